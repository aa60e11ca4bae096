"""Generates and compiles the simulated GPU for one set of installed wheels."""
