"""What a definition does not say, read from its prose, schema, names and neighbours."""
