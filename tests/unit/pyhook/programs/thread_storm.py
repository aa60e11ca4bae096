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
    stacks = []
    slots = []

    def work():
        stacks.append(c.capture_id())
        slots.append(c.library.peakline_test_reads_slot())

    for _ in range(count):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return stacks.count(0), sum(slots) / len(slots)


def main():
    c.attach()
    early_empty, _ = storm(100)
    before = mapped_kib()
    empty, slots = storm(1500)
    result = {"gained_kib": mapped_kib() - before, "empty": early_empty + empty, "slots": slots}
    json.dump({**result, "minor": sys.version_info.minor}, sys.stdout)


if __name__ == "__main__":
    main()
