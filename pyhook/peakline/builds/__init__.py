"""Finds torch, and builds and keeps the libraries that are compiled against it."""
