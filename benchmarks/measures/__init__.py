"""What is measured beyond rankings: guarantees, ablations, suites."""
