"""The way of a request, pure over a view of what its principal may see."""
