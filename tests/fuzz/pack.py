"""Pack a trace into an input of the fuzz target: ``pack.py TRACE OUTPUT``.

An input is the superblock and, of each chunk, its header, two bytes of length and that much of its
payload: whole chunks of 256 KiB would leave a fuzzer no room to try things.
"""

import struct
import sys
from pathlib import Path

SUPERBLOCK, FILE_HEADER, CHUNK, HEADER = 104, 4096, 256 * 1024, 128
PAYLOAD_KEPT = 1500


def pack(trace: bytes) -> bytes:
    """Return the packed form of the first eight used chunks."""
    out = [trace[:SUPERBLOCK]]
    for at in range(FILE_HEADER, len(trace), CHUNK):
        header = bytearray(trace[at : at + HEADER])
        if len(header) < HEADER or header[:4] == b"\0\0\0\0" or len(out) == 9:
            continue
        [committed] = struct.unpack_from("<I", header, 64)
        kept = min(committed, PAYLOAD_KEPT)
        struct.pack_into("<I", header, 64, kept)
        if kept < committed:
            header[6:8] = b"\0\0"  # no longer sealed
        struct.pack_into("<Q", header, 8, len(out) - 1)
        out.append(bytes(header) + struct.pack("<H", kept) + trace[at + HEADER :][:kept])
    return b"".join(out)


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(pack(Path(sys.argv[1]).read_bytes()))
