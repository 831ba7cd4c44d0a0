"""Drawings and HTML of results, for notebooks and reports, without scripts or network access.

Objects are accessed by their attributes only, so that their modules can import this package without cycles.
"""
