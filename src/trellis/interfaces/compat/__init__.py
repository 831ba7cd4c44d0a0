"""Other tools' interfaces on our engine: a program that was written for them needs one line changed."""
