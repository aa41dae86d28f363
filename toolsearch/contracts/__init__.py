"""A contract's life, pure: read, enriched, scanned, linted, compared, exported."""
