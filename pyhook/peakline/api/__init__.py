"""Functions of `import peakline`: a program records itself."""
