"""Learning by users: fit a model on one's own log, keep it only if it wins on requests it has not seen."""
