"""Text -> tokens, versioned."""
