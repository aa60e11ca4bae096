"""Stacks of one line of code that differ in the object whose method runs."""

import json

import capture as c

library = c.library_with_gil
library.peakline_test_own_instance.restype = c.ctypes.c_uint64
library.peakline_test_instance_died.argtypes = [c.ctypes.c_uint64]


def watch(*methods):
    """Watch these and as many others as there is room for, which never run."""
    codes = [method.__code__ for method in methods]
    others = [compile("0", "other", "eval") for _ in range(8 - len(codes))] if codes else []
    kept.append(others)
    addresses = [id(code) for code in others + codes]
    array = (c.ctypes.c_uint64 * 8)(*addresses)
    library.peakline_test_watch_methods(array, c.ctypes.c_size_t(len(addresses)))


kept = []


class Layer:
    def __init__(self, inner=None):
        self.inner = inner

    def call(self, ask):
        extra = [ask, self]  # more locals
        return self.inner.call(ask) if self.inner else self.leaf(extra[0])

    def leaf(self, ask):
        return ask()


def run_all():
    """The same line captures for every object."""
    return [layer.call(c.capture_id) for layer in layers]


c.attach()
layers = [Layer(), Layer(), Layer(Layer())]
unwatched = run_all()
watch(Layer.call)
deaths = [0, 0, id(layers[0])]
before, again, after_death = [  # called from one line, too
    (library.peakline_test_instance_died(address), run_all())[1] for address in deaths
]
owners = [layer.call(library.peakline_test_own_instance) for layer in layers]
in_generator = next(layer.call(c.capture_id) for layer in layers)
watch()
print(
    json.dumps(
        {
            "unwatched_distinct": len(set(unwatched)),
            "distinct": len(set(before)),
            "same_again": before == again,
            "new_after_death": [a != b for a, b in zip(before, after_death, strict=True)],
            "owners_right": owners == [id(layers[0]), id(layers[1]), id(layers[2].inner)],
            "in_generator": in_generator not in before,
        }
    )
)
