"""Compares the memory of two runs: ``peakline diff`` and ``peakline check``."""
