"""Fitting of what the package ships: the bundled encoder. Needs the `train` extra; nothing at run time imports it."""
