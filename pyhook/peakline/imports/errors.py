"""What is wrong with a file that is to be imported."""


class UnreadableError(ValueError):
    """The file is not of the form it seems to have; the text says what is wrong with it."""
