"""Helpers of the commands: options, errors, output files, the table of reports."""
