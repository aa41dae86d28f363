"""The HTTP sidecar: routes, guard, limits, problem documents."""
