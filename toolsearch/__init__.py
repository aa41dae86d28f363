"""toolsearch."""
