"""Fixtures of more than one file."""

from command_line import call, chunk, control_c, here

__all__ = ["call", "chunk", "control_c", "here"]
