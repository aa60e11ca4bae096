"""Reports as text: the only renderer of the engine's documents."""
