"""The HTTP sidecar: the library's verbs over FastAPI, and where the principal of a request comes from."""
