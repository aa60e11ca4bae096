"""Groups traces into runs, finds the rank of each, and compares the ranks of a run."""
