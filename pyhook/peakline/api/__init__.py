"""Recording from the program itself: the functions of `import peakline`."""
