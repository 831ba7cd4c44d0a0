"""Phrase-based translation whose weights `trellis.structured` learns (Liang et al. 2006); see docs/translation.md."""
