"""Tells the recorder what the program's modules and optimizers are called and where they lie.

Loaded by safe_point.cpp of pyhook into the program, also where the package cannot be imported, and
called at safe points only: see Note [Safe points] there. It never changes the program: it reads
dictionaries without attribute look-up, holds no reference to its objects, not even a weak one (see
pyhook/watched_objects.h), imports nothing that the program has not imported, and swallows its own
failures. What it cannot see is not named, never guessed. Once loaded its modules are taken out of
sys.modules: imports stand at their tops.
"""

from .objects import connect

__all__ = ["connect"]
