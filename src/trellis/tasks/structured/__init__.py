"""Learn to predict any structure (Collins 2002, figure 2): GEN, Phi and a weight for every feature.

A problem says what the outputs of an input are and which features they have; every learner of trellis that a problem
can answer runs on it.
"""
