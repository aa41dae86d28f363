"""Outside formats -> ToolContract. One reader a file."""
