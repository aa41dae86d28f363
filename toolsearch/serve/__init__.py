"""The HTTP sidecar."""
