"""Results as pictures and pieces of pages, for notebooks and reports. Nothing here fetches anything or runs scripts.

It knows the objects that it shows by their attributes, so that they can call it and it need not import them.
"""
