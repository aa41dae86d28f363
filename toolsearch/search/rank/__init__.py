"""The stages of a search, as pure functions over plain data."""
