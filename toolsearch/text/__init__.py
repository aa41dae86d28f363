"""Text: what it is made of (analysis) and what it means (embed)."""
