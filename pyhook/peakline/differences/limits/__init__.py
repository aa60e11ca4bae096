"""Limits of ``peakline check``, from options and from a file, and the verdicts on them."""
