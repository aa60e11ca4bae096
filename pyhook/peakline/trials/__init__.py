"""Measured runs of a program: on other devices, or with changes."""
