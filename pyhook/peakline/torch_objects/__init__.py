"""Reports the names and addresses of the program's modules, tensors and optimizers to the recorder.

safe_point.cpp of pyhook loads it into the program, even if the package cannot be imported, and
calls it only at safe points: see Note [Safe points] there. It never changes the program: it reads
dictionaries without attribute look-up, holds no reference to the program's objects, not even a weak
one (see pyhook/watched_objects.h), imports nothing that the program has not imported, and swallows
its own failures. It never guesses names of objects that it cannot see. After loading, its modules
are removed from sys.modules, so imports must be at their tops.
"""

from .objects import connect

__all__ = ["connect"]
