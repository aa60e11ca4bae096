"""What other tools recorded, as traces: ``peakline import FILE``. Nothing in a file is executed."""
