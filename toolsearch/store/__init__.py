"""The DuckDB registry: contracts and versions, rules, outcomes, decisions, sessions, embedding cache."""
