"""The open index: search, catalogue, sessions, versions, experience and models over one state."""
