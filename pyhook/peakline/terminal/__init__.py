"""Reports laid out for a terminal; the finished texts come from the engine."""
