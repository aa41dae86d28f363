"""Arguments of a call against the contract of its tool: pure checks, shared by `prepare` and the gateway."""
