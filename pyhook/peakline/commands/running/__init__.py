"""What `peakline run` and `peakline fit` share: ranks, simulated devices, the end of a run."""
