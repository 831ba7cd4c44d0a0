"""Phrase-based translation with weights learned by `StructuredModel` (Liang et al. 2006); see docs/translation.md."""
