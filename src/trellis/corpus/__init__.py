"""Sentences in and out: files and tables to dictionary-encoded columns, and back."""
