"""Many short threads capture; prints how much memory the process gained after the first ones."""

import json
import sys
import threading
from pathlib import Path

import capture as c


def mapped_kib():
    rows = Path("/proc/self/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmRSS"))


def storm(count):
    empty = 0

    def work():
        nonlocal empty
        empty += c.capture_id() == 0

    for _ in range(count):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return empty


def main():
    c.attach()
    empty = storm(100)
    before = mapped_kib()
    empty += storm(1500)
    json.dump({"gained_kib": mapped_kib() - before, "empty": empty}, sys.stdout)


if __name__ == "__main__":
    main()
