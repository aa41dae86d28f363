"""Hidden instructions in definitions and results: rules, encoded text, the scan."""
