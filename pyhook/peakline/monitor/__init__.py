"""Metrics of recordings, and a server that gives those of running programs to Prometheus."""
