"""How good the labels of a reranker are, beside those of its tagger and the best ones in the k-best lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from trellis.display.tables import Figure, Row
from trellis.evaluation.tagging import TaggingReport


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RerankingReport(TaggingReport):
    """The report of the reranker's labels, with two more summary rows: the tagger alone, and the oracle."""

    first: TaggingReport  # the tagger's own choice
    oracle: TaggingReport  # the cheapest candidate of every list

    @classmethod
    def of(cls, chosen: TaggingReport, first: TaggingReport, oracle: TaggingReport) -> RerankingReport:
        """Join the reports of three choices from the same lists."""
        figures = {field.name: getattr(chosen, field.name) for field in fields(TaggingReport)}
        return cls(**figures, first=first, oracle=oracle)

    def summary(self) -> Mapping[str, Row | Figure]:
        """Averages and accuracies of the reranker, then the headline figures of tagger and oracle."""
        return {**TaggingReport.summary(self), "tagger": self.first.overall(), "oracle": self.oracle.overall()}
