"""Reports as text: the one renderer of the documents of the engine."""
