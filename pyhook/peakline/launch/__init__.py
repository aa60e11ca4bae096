"""Programs that are run: the command, its ranks, simulated devices, its end."""
