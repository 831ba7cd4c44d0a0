"""Choose again among the k best label sequences of a tagger, by features that look at a whole sequence.

Lists for training come from cross-validation, so that they look like those of new sentences.
"""
