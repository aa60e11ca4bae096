"""Helpers of every layer: text, files, names of devices."""
