"""Phrase-based translation with weights learned by `tasks.structured` (Liang et al. 2006); see docs/translation.md."""
