"""ToolContract -> the shape a provider takes. One writer a file."""
