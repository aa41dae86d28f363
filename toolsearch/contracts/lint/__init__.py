"""Lint: every rule of good tool design as a pure function over one contract, or over a catalogue of them."""
