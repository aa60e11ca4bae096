"""Writes Protocol Buffers messages: the small part of the wire format that our formats need.

Source: https://protobuf.dev/programming-guides/encoding/. A message is built as bytes, field by
field; the field numbers are those of the format's .proto file.
"""

from __future__ import annotations

_VARINT, _FIXED64, _LENGTH = 0, 1, 2


def varint(value: int) -> bytes:
    """Return a number as a varint; a negative one as its 64-bit two's complement."""
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Return a field of an integer, an enum or a bool."""
    return varint(field << 3 | _VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """Return a field of type fixed64."""
    return varint(field << 3 | _FIXED64) + value.to_bytes(8, "little")


def data(field: int, value: bytes | str) -> bytes:
    """Return a field of bytes, a string or a message."""
    value = value.encode(errors="replace") if isinstance(value, str) else value
    return varint(field << 3 | _LENGTH) + varint(len(value)) + value


def numbers(field: int, values: list[int]) -> bytes:
    """Return a packed repeated field of integers."""
    return data(field, b"".join(map(varint, values)))
