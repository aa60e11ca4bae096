"""GPU memory in the loggers of trainers: one module per trainer, which imports that trainer.

Importing this package imports none of them. `watch.py` is what they share; it knows no trainer.
"""
