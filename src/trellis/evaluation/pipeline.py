"""Evaluation from raw text: the measures of the CoNLL 2018 shared task, from tokens to trees.

Both documents are the same text. Their tokens are spans of its characters, whitespace not counted, so that a document
with other tokens and sentences than gold can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from trellis._support.arguments import instance
from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.document import Document
from trellis.display.tables import Row
from trellis.evaluation.report import Report
from trellis.evaluation.scores import Score
from trellis.evaluation.word_alignment import CONTENT, ROOT, UNALIGNED, DocumentWords, aligned_words

TREE_MEASURES = ("UAS", "LAS", "CLAS", "MLAS", "BLEX")


@dataclass(frozen=True, slots=True)
class AlignedScore(Score):
    """A score of words, with their accuracy where gold and predicted words are aligned.

    Attributes
    ----------
    gold
        Number of gold items.
    predicted
        Number of predicted items.
    correct
        Number of correct items.
    aligned
        Number of gold words that are aligned to a predicted word; None for tokens, sentences and words themselves.
    """

    aligned: int | None = None

    @property
    def aligned_accuracy(self) -> float | None:
        """Fraction of aligned words that are correct."""
        return None if self.aligned is None else self.correct / self.aligned if self.aligned else 0.0

    def to_dict(self) -> dict[str, float]:
        """Convert to a row of a report.

        Returns
        -------
        dict[str, float]
            Counts, precision, recall, F1, and the accuracy of aligned words.
        """
        figures = Score.to_dict(self)
        accuracy = self.aligned_accuracy
        return figures if accuracy is None else {**figures, "aligned_accuracy": accuracy}


@dataclass(frozen=True, slots=True, repr=False)
class PipelineReport(Report):
    """Scores of documents predicted from raw text; rows are the measures of the CoNLL 2018 shared task.

    Attributes
    ----------
    rows
        Scores by measure: Tokens, Sentences, Words, UPOS, XPOS, UFeats, AllTags, Lemmas, and with trees UAS, LAS, CLAS,
        MLAS and BLEX.
    """

    rows: Mapping[str, AlignedScore]
    counts: ClassVar[tuple[str, ...]] = ("n_sentences", "n_words")
    metrics: ClassVar[Mapping[str, str]] = {name: name for name in ("auto", "words", "upos", "las", "mlas", "blex")}
    columns: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1", "aligned_accuracy", "support")

    @property
    def name(self) -> str:
        """Name of the headline figure: LAS, or UPOS without trees."""
        return "LAS" if "LAS" in self.rows else "UPOS"

    @property
    def n_sentences(self) -> int:
        """Number of gold sentences."""
        return self.rows["Sentences"].gold

    @property
    def n_words(self) -> int:
        """Number of gold words."""
        return self.rows["Words"].gold

    @property
    def auto(self) -> float:
        """F1 of the headline measure."""
        return self.rows[self.name].f1

    @property
    def words(self) -> float:
        """F1 of words."""
        return self.rows["Words"].f1

    @property
    def upos(self) -> float:
        """F1 of universal parts of speech."""
        return self.rows["UPOS"].f1

    @property
    def las(self) -> float:
        """F1 of labelled attachment."""
        return self._of_trees("LAS")

    @property
    def mlas(self) -> float:
        """F1 of content words with correct attachment, tags, features and function words."""
        return self._of_trees("MLAS")

    @property
    def blex(self) -> float:
        """F1 of content words with correct attachment and lemma."""
        return self._of_trees("BLEX")

    def _of_trees(self, measure: str) -> float:
        if measure not in self.rows:
            raise LearnerError(f"metric {measure.lower()!r} needs trees, but a document has no heads; use 'upos'")
        return self.rows[measure].f1

    def summary(self) -> Mapping[str, Row]:
        """All figures are rows.

        Returns
        -------
        Mapping[str, Row]
            Nothing.
        """
        return {}


def compare_documents(gold: Document, predicted: Document) -> PipelineReport:
    """Compare a predicted document with gold, in the measures of the CoNLL 2018 shared task.

    Tokens and sentences are correct if gold has them with the same first and last character. Words are aligned if their
    tokens are the same; within multiword tokens, by the longest common subsequence of their forms. All other measures
    count aligned words: those with the same tags, features (only universal ones) or lemma (always if gold has none),
    and those whose heads are aligned, whatever the subtype of the relation (``nsubj:pass`` is ``nsubj``). CLAS, MLAS
    and BLEX are of content words only. Without heads in one of the documents there are no measures of trees.

    Parameters
    ----------
    gold
        The gold document.
    predicted
        The predicted document, of the same text.

    Returns
    -------
    PipelineReport
        Precision, recall, F1 and the accuracy of aligned words of each measure.

    Raises
    ------
    CorpusError
        If the documents differ in a character that is not whitespace.

    Examples
    --------
    >>> from trellis import Document, DocumentSentence, Word
    >>> from trellis.evaluation.pipeline import compare_documents
    >>> gold = Document("a cat", [DocumentSentence([Word("a", upos="DET"), Word("cat", upos="NOUN")])])
    >>> predicted = Document("a cat", [DocumentSentence([Word("a", upos="X"), Word("cat", upos="NOUN")])])
    >>> compare_documents(gold, predicted).upos
    0.5
    """
    documents = (
        instance(name, one, Document, "a Document") for name, one in (("gold", gold), ("predicted", predicted))
    )
    true, found = map(DocumentWords.of, documents)
    if true.text != found.text:
        pairs = zip(true.text, found.text, strict=False)
        shared = min(len(true.text), len(found.text))
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), shared)
        texts = f"{found.text[at : at + 20]!r} instead of {true.text[at : at + 20]!r}"
        why = f"the text differs from gold after {at:,} characters (without whitespace): {texts}; compare the same text"
        raise CorpusError(predicted.source, None, why)
    return PipelineReport(_scores(true, found, aligned_words(true, found)))


def _scores(gold: DocumentWords, predicted: DocumentWords, pairs: list[tuple[int, int]]) -> dict[str, AlignedScore]:
    """Scores by measure."""
    to_gold = {p: g for g, p in pairs} | {ROOT: ROOT}

    def spans(of: Callable[[DocumentWords], list[tuple[int, int]]]) -> AlignedScore:
        true, found = of(gold), of(predicted)
        return AlignedScore(len(true), len(found), len(set(true) & set(found)))

    def same_tags(g: int, p: int) -> bool:
        return gold.upos[g] == predicted.upos[p] and gold.feats[g] == predicted.feats[p]

    def same_lemma(g: int, p: int) -> bool:
        return gold.lemmas[g] in (None, "_") or gold.lemmas[g] == predicted.lemmas[p]

    def same_head(g: int, p: int) -> bool:
        return gold.heads[g] == to_gold.get(predicted.heads[p], UNALIGNED)

    def same_arc(g: int, p: int) -> bool:
        return same_head(g, p) and gold.deprels[g] == predicted.deprels[p]

    def same_function_words(g: int, p: int) -> bool:
        true, found = gold.function_words.get(g, ()), predicted.function_words.get(p, ())
        return len(true) == len(found) and all(
            a == to_gold.get(b) and gold.deprels[a] == predicted.deprels[b] and same_tags(a, b)
            for a, b in zip(true, found, strict=True)
        )

    def score(chosen: list[tuple[int, int]], correct: Callable[[int, int], bool], n: tuple[int, int]) -> AlignedScore:
        return AlignedScore(*n, sum(correct(g, p) for g, p in chosen), len(chosen))

    n_words = len(gold.forms), len(predicted.forms)
    measures: dict[str, Callable[[int, int], bool]] = {
        "UPOS": lambda g, p: gold.upos[g] == predicted.upos[p],
        "XPOS": lambda g, p: gold.xpos[g] == predicted.xpos[p],
        "UFeats": lambda g, p: gold.feats[g] == predicted.feats[p],
        "AllTags": lambda g, p: gold.xpos[g] == predicted.xpos[p] and same_tags(g, p),
        "Lemmas": same_lemma,
        "UAS": same_head,
        "LAS": same_arc,
    }
    of_content: dict[str, Callable[[int, int], bool]] = {
        "CLAS": same_arc,
        "MLAS": lambda g, p: same_arc(g, p) and same_tags(g, p) and same_function_words(g, p),
        "BLEX": lambda g, p: same_arc(g, p) and same_lemma(g, p),
    }
    content = [(g, p) for g, p in pairs if gold.deprels[g] in CONTENT]
    n_content = sum(one in CONTENT for one in gold.deprels), sum(one in CONTENT for one in predicted.deprels)
    scores = {
        "Tokens": spans(lambda side: side.tokens),
        "Sentences": spans(lambda side: side.sentences),
        "Words": AlignedScore(*n_words, len(pairs)),
        **{name: score(pairs, correct, n_words) for name, correct in measures.items()},
        **{name: score(content, correct, n_content) for name, correct in of_content.items()},
    }
    has_trees = gold.has_heads and predicted.has_heads
    return {name: one for name, one in scores.items() if has_trees or name not in TREE_MEASURES}
