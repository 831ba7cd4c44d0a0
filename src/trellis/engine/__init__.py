"""Thin typed calls into the native core: everything here is a function of potentials."""
