"""What one run holds more or less than another: ``peakline diff`` and ``peakline check``."""
