"""Shared by `peakline run` and `peakline fit`: ranks, simulated devices, the end of a run."""
