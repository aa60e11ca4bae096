"""Summaries of many runs as Parquet tables, and questions about them: see README.md."""
