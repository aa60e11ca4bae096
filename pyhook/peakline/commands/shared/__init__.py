"""What the commands share: options, errors, output files, the table of reports."""
