"""The MCP server: four meta-tools over HTTP or standard input."""
