"""Answers for assistants that edit code: reports within a budget of bytes, and trials."""
