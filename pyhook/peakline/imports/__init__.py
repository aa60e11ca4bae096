"""``peakline import FILE``: converts recordings of other tools to traces, and executes nothing."""
