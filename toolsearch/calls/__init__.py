"""The servers behind: connections, imports, the gateway."""
