"""Finds torch, and builds and keeps what is compiled against it."""
