"""Begins and ends a recording in a Python program that was started without peakline."""
