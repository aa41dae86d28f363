"""What an append-only tool block saves: one conversation through every adapter."""
