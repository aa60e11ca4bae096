"""Runs programs: the command, its ranks, simulated devices, its end."""
