"""Measured runs of a program: on other devices, with changes."""
