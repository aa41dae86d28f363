"""Qrels, runs, metrics, significance, cases and reports."""
