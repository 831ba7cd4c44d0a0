"""Dependency parsing (McDonald et al. 2005): trees over words, by the learners of trellis."""
