"""Text of other tools, as a trace can hold it."""


def plain_text(value: object) -> str:
    """Return text that a trace can hold: UTF-8 without zeros."""
    return str(value).replace("\0", "").encode(errors="replace").decode()
