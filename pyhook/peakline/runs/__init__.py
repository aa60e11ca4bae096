"""Which traces form a run, which rank each is, and what the ranks of a run have in common."""
