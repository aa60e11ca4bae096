"""Lays reports out for a terminal; the engine supplies the finished texts."""
