"""What every layer uses: text, files, names of devices."""
