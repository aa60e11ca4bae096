"""GPU memory in the loggers of trainers: one module per trainer, which imports that trainer.

Importing this package imports none of them. They share `watch.py`, which knows no trainer.
"""
