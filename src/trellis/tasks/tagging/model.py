"""`Tagger`: the trained model with its methods."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trellis._support.arguments import file_path, instance, items, real_number, thread_count, whole_number
from trellis._support.errors import ArgumentError, ModelError
from trellis._support.stored_weights import Storage
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Column, Corpus, Strings, labels_of
from trellis.corpus.files import extension
from trellis.corpus.read import TrainingFile, read_examples, read_like
from trellis.tasks.model import OTHER_TOOLS, KBest, Model
from trellis.tasks.tagging import file as model_file
from trellis.tasks.tagging.chain_model import ChainModel
from trellis.tasks.tagging.decoding import ChainDecoder, Constraints, Decode, listed, one

if TYPE_CHECKING:
    from trellis.corpus.schemes import Span
    from trellis.display.svg import Picture
    from trellis.engine.dual import SupportSequence
    from trellis.evaluation.error_analysis import ErrorAnalysis
    from trellis.evaluation.reliability import Calibration
    from trellis.evaluation.tagging import TaggingReport
    from trellis.tasks.explanation import Term
    from trellis.tasks.tagging.constraints import AllowedLabels
    from trellis.tasks.tagging.explain import TaggingExplanation
    from trellis.tasks.tagging.posterior import Posterior, ProbabilityKind
    from trellis.tasks.tagging.text import TaggedText

Sentence = Sequence[str] | Sequence[Sequence[str]] | Sequence[Mapping[str, Any]] | Mapping[str, Sequence[str]]
Sentences = Sequence[Sentence] | Corpus
Allowed = Constraints | None  # allowed labels of each sentence
Threads = int | None  # None: all cores
SCORES = {"token": "token accuracy", "sentence": "sentence accuracy", "span": "span F1"}


class Tagger(Model):
    """A model that labels sequences, made by ``trellis.train`` or ``trellis.load``.

    A sentence is a list of strings. A model of several columns takes a list of tuples, or a dict of column name to list
    of strings. A model of free-form attributes takes a list of dicts or of lists of strings; beside other columns, the
    attributes are the last item of each tuple.

    Parameters
    ----------
    model
        The model as data: labels, vocabulary and weights.

    Examples
    --------
    >>> import trellis
    >>> tagger = trellis.train([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
    >>> tagger.predict(["a", "dog"])
    ['D', 'N']
    >>> tagger.labels, tagger.target
    (('D', 'N'), 'label')
    """

    __slots__ = ("_decoder", "_model", "columns", "labels")
    task, format, needs = "tag", model_file.FORMAT, ("kernel",)

    def __init__(self, model: ChainModel) -> None:
        self._model = model
        try:
            self._decoder = ChainDecoder(model)
        except MemoryError as error:
            raise ModelError("not enough memory for the model") from error
        except (ValueError, TypeError, LookupError) as error:
            why = str(error).partition("\n")[0]
            raise ModelError(f"the parts of the model are inconsistent: {why}") from error
        self.labels, self.columns = model.labels, model.columns  # input columns

    @property
    def target(self) -> str:
        """Column that the model predicts."""
        return self._model.target

    @property
    def order(self) -> int:
        """Markov order: number of preceding labels."""
        return self._model.order

    @property
    def info(self) -> dict[str, Any]:
        """The user's notes."""
        return self._model.info

    @property
    def training(self) -> dict[str, Any]:
        """The record of training: version, learner, sizes, history."""
        return self._model.training

    @property
    def model(self) -> ChainModel:
        """The model as data: labels, vocabulary and weights."""
        return self._model

    @property
    def probability_kind(self) -> ProbabilityKind:
        """``"probability"``, or ``"confidence"`` (softmax of scores) for learners without probabilities."""
        return "confidence" if self._model.family == "scores" else "probability"

    @property
    def temperature(self) -> float:
        """Divisor of scores before they become probabilities or confidences; see ``calibrated``."""
        return self._model.temperature

    def tag(self, sentence: Sentence, *, decode: Decode = "viterbi", allowed: AllowedLabels | None = None) -> list[str]:
        """Label one sentence; ``predict`` is the same method.

        Parameters
        ----------
        sentence
            Tokens; see `Tagger` for the forms of a sentence.
        decode
            ``"viterbi"`` for the best path (default), ``"posterior"`` for the label of highest marginal probability at
            each token.
        allowed
            Allowed labels: a dict of position to label or labels, or a list with None where all labels are allowed.
            Overrides the tag dictionary.

        Returns
        -------
        list[str]
            One label per token.

        Raises
        ------
        ConstraintError
            If no label sequence satisfies ``allowed``.

        Examples
        --------
        >>> import trellis
        >>> tagger = trellis.train([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
        >>> tagger.tag(["a", "dog"])
        ['D', 'N']
        >>> tagger.tag(["a", "dog"], allowed={0: "N"})
        ['N', 'N']
        """
        if decode == "viterbi" and allowed is None and self._decoder.plain:
            return self._decoder.tag_one(sentence)
        return self.tag_batch([sentence], decode=decode, allowed=one(allowed), n_threads=1)[0]

    def tag_batch(
        self, sentences: Sentences, *, decode: Decode = "viterbi", allowed: Allowed = None, n_threads: Threads = None
    ) -> list[list[str]]:
        """Label many sentences; ``predict_batch`` is the same method.

        Parameters
        ----------
        sentences
            List of sentences, or a Corpus.
        decode
            ``"viterbi"`` for the best path (default), ``"posterior"`` for the label of highest marginal probability at
            each token.
        allowed
            Allowed labels: for each sentence what ``tag`` accepts, or None.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[list[str]]
            One list of labels per sentence.

        Raises
        ------
        ConstraintError
            If no label sequence of a sentence satisfies ``allowed``.

        Examples
        --------
        >>> import trellis
        >>> tagger = trellis.train([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
        >>> tagger.tag_batch([["a", "dog"], ["cat"]])
        [['D', 'N'], ['N']]
        """
        n_threads, decoder = thread_count(n_threads), self._decoder
        if decode == "viterbi" and allowed is None and decoder.plain:
            return decoder.best(decoder.encode(sentences, n_threads), n_threads)
        return decoder.named(*decoder.best_codes(sentences, decode, allowed, n_threads))

    def tag_corpus(self, corpus: Any, *, decode: Decode = "viterbi", n_threads: Threads = None) -> Corpus:
        """Label a corpus; ``predict_corpus`` is the same method.

        Parameters
        ----------
        corpus
            Corpus, file, or anything that ``trellis.read`` accepts.
        decode
            ``"viterbi"`` for the best path (default), ``"posterior"`` for the label of highest marginal probability at
            each token.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Corpus
            The corpus with the predicted labels as its column ``target``.
        """
        sentences = read_like(corpus, self.training_file)
        return sentences.with_column(self.target, self.tag_column(sentences, decode=decode, n_threads=n_threads))

    def tag_column(self, corpus: Corpus, *, decode: Decode = "viterbi", n_threads: Threads = None) -> Column:
        """Label a corpus and return the labels as a column.

        Parameters
        ----------
        corpus
            Sentences.
        decode
            ``"viterbi"`` for the best path (default), ``"posterior"`` for the label of highest marginal probability at
            each token.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Column
            The predicted labels.
        """
        instance("corpus", corpus, Corpus, "a Corpus, as returned by trellis.read")
        codes, _ = self._decoder.best_codes(corpus, decode, None, thread_count(n_threads))
        return Column(codes, Strings.of(self.labels))

    predict, predict_batch, predict_corpus = tag, tag_batch, tag_corpus

    def tag_text(
        self,
        text: str,
        *,
        lines: bool = False,
        confidence: bool = False,
        decode: Decode = "viterbi",
        n_threads: Threads = None,
    ) -> TaggedText:
        """Split text into sentences and tokens with ``trellis.tokenize``, and label them.

        Parameters
        ----------
        text
            The text.
        lines
            Whether every line is a sentence.
        confidence
            Whether to compute the probabilities of labels and spans.
        decode
            ``"viterbi"`` for the best path (default), ``"posterior"`` for the label of highest marginal probability at
            each token.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        TaggedText
            Sentences with tokens, labels, spans and their offsets in the text.

        Examples
        --------
        >>> import trellis
        >>> tagger = trellis.train([["the", "dog", "."], ["a", "cat", "."]], [["D", "N", "."], ["D", "N", "."]])
        >>> tagged = tagger.tag_text("a dog. the cat.")
        >>> tagged.sentences[0].labels
        ['D', 'N', '.']
        >>> tagged.sentences[0].tokens[1]
        Token(text='dog', start=2, end=5)
        """
        from trellis.corpus.tokens import tokenize
        from trellis.tasks.tagging.text import tag_sentences

        sentences = tokenize(text, lines=lines)
        return tag_sentences(self, text, sentences, confidence=confidence, decode=decode, n_threads=n_threads)

    def kbest(self, sentence: Sentence, k: int = 5, *, allowed: AllowedLabels | None = None) -> KBest:
        """Find the k best label sequences and their scores.

        A voted perceptron ranks by its averaged weights, so that the first sequence may differ from that of ``tag``.

        Parameters
        ----------
        sentence
            Tokens; see `Tagger` for the forms of a sentence.
        k
            Number of label sequences.
        allowed
            Allowed labels: a dict of position to label or labels, or a list with None where all labels are allowed.
            Overrides the tag dictionary.

        Returns
        -------
        KBest
            Pairs (labels, score), best first; fewer than ``k`` if there are not as many sequences.

        Examples
        --------
        >>> import trellis
        >>> tagger = trellis.train([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
        >>> best, second = tagger.kbest(["a", "dog"], 2)
        >>> best[0], best[1] > second[1]
        (['D', 'N'], True)
        """
        return KBest(self.kbest_batch([sentence], k, allowed=one(allowed), n_threads=1)[0])

    def kbest_batch(
        self, sentences: Sentences, k: int, *, allowed: Allowed = None, n_threads: Threads = None
    ) -> list[list[tuple[list[str], float]]]:
        """Find the k best label sequences of many sentences.

        Parameters
        ----------
        sentences
            List of sentences, or a Corpus.
        k
            Number of label sequences.
        allowed
            Allowed labels: for each sentence what ``tag`` accepts, or None.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[list[tuple[list[str], float]]]
            For each sentence pairs (labels, score), best first.
        """
        from trellis.tasks.tagging.constraints import require_possible

        k, outputs, best = whole_number("k", k, 1, 1_000_000), list[list[tuple[list[str], float]]](), list[float]()
        for chains in self._decoder.searched(sentences, allowed, threads := thread_count(n_threads)):
            paths, scores, counts = chains.kbest(k, threads)
            best += scores[:, 0].tolist()
            names = [self.labels[z] for z in paths.tolist()]  # padding if a sentence has fewer paths
            rows = zip(pairwise(chains.starts.tolist()), scores.tolist(), counts.tolist(), strict=True)
            for (begin, end), row, count in rows:
                n, first = end - begin, k * begin
                outputs.append([(names[first + r * n : first + r * n + n], row[r]) for r in range(count)])
        require_possible(np.array(best))
        return outputs

    def marginals(self, sentence: Sentence, *, edges: bool = False, allowed: AllowedLabels | None = None) -> Posterior:
        """Compute the marginal probability of each label at each token.

        For learners without probabilities (perceptron) these are confidences: the softmax of path scores divided by the
        model's temperature. ``probability_kind`` says which.

        Parameters
        ----------
        sentence
            Tokens; see `Tagger` for the forms of a sentence.
        edges
            Whether to compute the marginals of label pairs as well.
        allowed
            Allowed labels: a dict of position to label or labels, or a list with None where all labels are allowed.
            Overrides the tag dictionary.

        Returns
        -------
        Posterior
            ``posterior[t][label]`` is a probability; ``posterior.node`` is an array.

        Raises
        ------
        ConstraintError
            If no label sequence satisfies ``allowed``.

        Examples
        --------
        >>> import trellis
        >>> tagger = trellis.train([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]], learner=trellis.CRF())
        >>> posterior = tagger.marginals(["a", "dog"])
        >>> posterior[0]["D"] > 0.5, posterior.node.shape
        (True, (2, 2))
        """
        return self.marginals_batch([sentence], edges=edges, allowed=one(allowed), n_threads=1)[0]

    def marginals_batch(
        self, sentences: Sentences, *, edges: bool = False, allowed: Allowed = None, n_threads: Threads = None
    ) -> list[Posterior]:
        """Compute the marginals of many sentences.

        Parameters
        ----------
        sentences
            List of sentences, or a Corpus.
        edges
            Whether to compute the marginals of label pairs as well.
        allowed
            Allowed labels: for each sentence what ``tag`` accepts, or None.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[Posterior]
            One posterior per sentence.
        """
        from trellis.tasks.tagging.constraints import require_possible
        from trellis.tasks.tagging.posterior import Posterior

        outputs = list[Posterior]()
        for chains in self._decoder.pieces(sentences, allowed, threads := thread_count(n_threads)):
            sums = chains.pair_marginals if edges else chains.marginals
            log_z, node, *pairs = sums(threads, self.temperature)
            require_possible(log_z)
            outputs += [
                Posterior(self.labels, node[a:b], pairs[0][a:b] if pairs else None, self.probability_kind)
                for a, b in pairwise(chains.starts.tolist())
            ]
        return outputs

    def log_partition_batch(self, sentences: Sentences, *, n_threads: Threads = None) -> list[float]:
        """Compute the log partition function: log of the sum of exp(score / temperature) over all label sequences.

        A label sequence with score s has the probability exp(s / temperature - log_partition).

        Parameters
        ----------
        sentences
            List of sentences, or a Corpus.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[float]
            One number per sentence.
        """
        pieces = self._decoder.pieces(sentences, None, threads := thread_count(n_threads))
        return [log_z for chains in pieces for log_z in chains.log_partition(threads, self.temperature).tolist()]

    def span_probability(
        self, sentence: Sentence, span: Span | tuple[str, int, int], *, allowed: AllowedLabels | None = None
    ) -> float:
        """Compute the probability that exactly this span is in the output.

        The sum is exact, over all label sequences with the span. For learners without probabilities it is a confidence.

        Parameters
        ----------
        sentence
            Tokens; see `Tagger` for the forms of a sentence.
        span
            Label, first token, and the token after the last one.
        allowed
            Allowed labels: a dict of position to label or labels, or a list with None where all labels are allowed.
            Overrides the tag dictionary.

        Returns
        -------
        float
            The probability.
        """
        from trellis.corpus.schemes import Span, SpanReading
        from trellis.tasks.tagging.posterior import probabilities

        values, kinds = items(span), (str, int | np.integer, int | np.integer)
        SpanReading.of(self.labels)  # CorpusError if labels mark no spans
        if values is None or len(values) != 3 or not all(map(isinstance, values, kinds)):
            raise ArgumentError(f"span must be (label, start_token, end_token), not {span!r}")
        [chains] = self._decoder.pieces([sentence], one(allowed), 1)
        n, span = len(chains.tables.emit), Span(*values)
        if not 0 <= span.start_token < span.end_token <= n:
            raise ArgumentError(f"span {span.start_token}..{span.end_token} exceeds the sentence of {n} tokens")
        return probabilities(self._decoder, chains, [[span]])[0][0]

    def tag_spans(
        self, sentence: Sentence, *, decode: Decode = "viterbi", allowed: AllowedLabels | None = None
    ) -> list[tuple[Span, float]]:
        """Find the spans of one sentence, each with its confidence.

        Parameters
        ----------
        sentence
            Tokens; see `Tagger` for the forms of a sentence.
        decode
            ``"viterbi"`` for the best path (default), ``"posterior"`` for the label of highest marginal probability at
            each token.
        allowed
            Allowed labels: a dict of position to label or labels, or a list with None where all labels are allowed.
            Overrides the tag dictionary.

        Returns
        -------
        list[tuple[Span, float]]
            Pairs (span, confidence); the confidence is an exact probability if ``probability_kind`` is
            ``"probability"``.
        """
        return self.tag_spans_batch([sentence], decode=decode, allowed=one(allowed), n_threads=1)[0]

    def tag_spans_batch(
        self, sentences: Sentences, *, decode: Decode = "viterbi", allowed: Allowed = None, n_threads: Threads = None
    ) -> list[list[tuple[Span, float]]]:
        """Find the spans of many sentences, each with its confidence.

        Parameters
        ----------
        sentences
            List of sentences, or a Corpus.
        decode
            ``"viterbi"`` for the best path (default), ``"posterior"`` for the label of highest marginal probability at
            each token.
        allowed
            Allowed labels: for each sentence what ``tag`` accepts, or None.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[list[tuple[Span, float]]]
            For each sentence pairs (span, confidence).
        """
        from trellis.corpus.schemes import Span, SpanReading, spans
        from trellis.tasks.tagging.posterior import probabilities

        SpanReading.of(self.labels)  # CorpusError if labels mark no spans
        sentences, threads, decoder = listed(sentences), thread_count(n_threads), self._decoder
        labels = decoder.named(*decoder.best_codes(sentences, decode, allowed, threads))
        outputs, found = list[list[tuple[Span, float]]](), list(map(spans, labels))
        for chains in decoder.pieces(sentences, allowed, threads):
            some = found[len(outputs) : len(outputs) + len(chains.starts) - 1]
            figures = probabilities(decoder, chains, some, threads)
            outputs += [list(zip(*pair, strict=True)) for pair in zip(some, figures, strict=True)]
        return outputs

    def constrained(self, scheme: str) -> Tagger:
        """Make a tagger that never predicts a label sequence that a scheme forbids.

        Parameters
        ----------
        scheme
            Name of the scheme: iob1, iob2, ioe1, ioe2, iobes, ...

        Returns
        -------
        Tagger
            A new tagger with the same weights.
        """
        from trellis.corpus.schemes import scheme_named
        from trellis.tasks.tagging.constraints import forbid, scheme_base

        weights = forbid(self._model.weights, *scheme_base(self.labels, scheme))
        training = {**self.training, "scheme": scheme_named(scheme)}
        return Tagger(replace(self._model, weights=weights, training=training))

    def pruned(self, margin: float | None) -> Tagger:
        """Make a tagger with another pruning margin; the model must have been trained with ``Search(prune=)``.

        Parameters
        ----------
        margin
            Labels that score at most ``margin`` less than the best one stay candidates (None: no pruning).

        Returns
        -------
        Tagger
            A new tagger with the same weights.
        """
        if margin is None:
            return Tagger(replace(self._model, filter=None))
        if self._model.filter is None:
            raise ModelError("the model has no filter; train it with search=trellis.Search(prune=True)")
        label_filter = replace(self._model.filter, margin=real_number("margin", margin, 0.0))
        return Tagger(replace(self._model, filter=label_filter))

    def calibrated(self, dev: Any, *, target: str | None = None, n_threads: Threads = None) -> Tagger:
        """Make a tagger whose temperature minimises the negative log-likelihood of held-out labels under the marginals.

        Best paths stay the same; marginals and confidences change, also in the saved model.

        Parameters
        ----------
        dev
            Held-out sentences with labels: a Corpus or anything that ``trellis.read`` accepts.
        target
            Column with the gold labels (default: the column that the model predicts).
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Tagger
            A new tagger with the same weights.
        """
        from trellis.tasks.tagging.calibration import calibrate

        corpus, gold = self._labelled(dev, target)
        return Tagger(calibrate(self._decoder, corpus, gold, thread_count(n_threads)))

    def reliability(
        self, corpus: Any, *, target: str | None = None, n_bins: int = 10, n_threads: Threads = None
    ) -> Calibration:
        """Measure calibration: reliability tables of labels, and of spans if the labels encode spans.

        Parameters
        ----------
        corpus
            Sentences with labels: a Corpus or anything that ``trellis.read`` accepts.
        target
            Column with the gold labels (default: the column that the model predicts).
        n_bins
            Number of confidence bins.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Calibration
            Tables with expected and maximum calibration error and Brier score.
        """
        corpus, gold = self._labelled(corpus, target)
        return self._reliability(corpus, gold, self.tag_column(corpus, n_threads=n_threads), n_bins, n_threads)

    def _reliability(
        self, corpus: Corpus, gold: Column, predicted: Column, n_bins: int = 10, n_threads: Threads = None
    ) -> Calibration:
        from trellis.tasks.tagging.calibration import measure_reliability

        kind, threads = self.probability_kind, thread_count(n_threads)
        return measure_reliability(self._decoder, kind, corpus, gold, predicted.codes, n_bins, threads)

    def explain(self, sentence: Sentence, *, allowed: AllowedLabels | None = None) -> TaggingExplanation:
        """Explain a prediction: each token's features with their weights, and why the best path beats the second.

        Parameters
        ----------
        sentence
            Tokens; see `Tagger` for the forms of a sentence.
        allowed
            Allowed labels: a dict of position to label or labels, or a list with None where all labels are allowed.
            Overrides the tag dictionary.

        Returns
        -------
        TaggingExplanation
            The best path, the second, their differing terms, and every token.

        Examples
        --------
        >>> import trellis
        >>> tagger = trellis.train([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
        >>> why = tagger.explain(["a", "dog"])
        >>> why.output, why.gap > 0
        (['D', 'N'], True)
        >>> why.tokens[1].label
        'N'
        """
        from trellis.tasks.tagging.explain import explain

        return explain(self, sentence, allowed)

    def draw(self, sentence: Sentence, *, most_labels: int = 12, allowed: AllowedLabels | None = None) -> Picture:
        """Draw the trellis of a sentence: tokens across, labels down, the best path in bold.

        Larger labels and wider lines are more probable. The least probable labels are not shown, and at most 200
        tokens.

        Parameters
        ----------
        sentence
            Tokens; see `Tagger` for the forms of a sentence.
        most_labels
            Maximum number of labels in the picture.
        allowed
            Allowed labels: a dict of position to label or labels, or a list with None where all labels are allowed.
            Overrides the tag dictionary.

        Returns
        -------
        Picture
            SVG, with a description as text.
        """
        from trellis.tasks.tagging.drawing import draw

        return draw(self, sentence, most_labels, allowed)

    def _score_name(self) -> str:
        from trellis.corpus.schemes import guess_scheme

        name = SCORES.get(self.training.get("metric", "auto"))
        return name or SCORES["token" if guess_scheme(self.labels) is None else "span"]

    def score(self, sentence: Sentence, labels: Sequence[str]) -> float:
        """Score a label sequence: the sum of the weights of its features (averaged weights if the model votes).

        Parameters
        ----------
        sentence
            Tokens; see `Tagger` for the forms of a sentence.
        labels
            One label per token.

        Returns
        -------
        float
            The score.
        """
        given = items(labels)
        [chains] = self._decoder.searched([sentence], None, 1)
        if given is None:
            raise ArgumentError(f"labels must be a list, one label per token, not {labels!r}")
        if len(given) != len(chains.tables.emit):
            raise ArgumentError(f"{len(given)} labels for {len(chains.tables.emit)} tokens")
        for label in given:
            if not isinstance(label, str) or label not in self.labels:
                raise ArgumentError(f"no label {label!r} in this model; its labels are {', '.join(self.labels)}")
        path = np.array([self.labels.index(label) for label in given], np.int32)
        return float(chains.path_scores(path, 1)[0])

    def evaluate(
        self,
        corpus: Any,
        y: Any = None,
        *,
        target: str | None = None,
        decode: Decode = "viterbi",
        label_parts: str | None = None,
        n_threads: Threads = None,
    ) -> TaggingReport:
        """Compare predicted labels with gold labels.

        Parameters
        ----------
        corpus
            Corpus, file, or anything that ``trellis.read`` accepts; sentences alone if ``y`` has the labels.
        y
            Gold labels of every sentence.
        target
            Column with the gold labels (default: the column that the model predicts).
        decode
            ``"viterbi"`` for the best path (default), ``"posterior"`` for the label of highest marginal probability at
            each token.
        label_parts
            Separator of the parts of labels, which are then scored too (default: as in training, and ``|`` for a target
            of two columns such as ``upos+feats``).
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        TaggingReport
            Accuracy, and precision, recall and F1 of spans or of labels.

        Examples
        --------
        >>> import trellis
        >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
        >>> report = trellis.train(X, y).evaluate(X, y)
        >>> report.token_accuracy
        1.0
        """
        corpus, gold = self._labelled(corpus, target, y)
        predicted = self.tag_column(corpus, decode=decode, n_threads=n_threads)
        return self._report(corpus, gold, predicted, target, label_parts)

    def _report(
        self, corpus: Corpus, gold: Column, predicted: Column, target: str | None, label_parts: str | None = None
    ) -> TaggingReport:
        from trellis.evaluation.tagging import PartNames, evaluate_columns

        if label_parts is None and self._model.weights.parts is not None:
            label_parts = self._model.weights.parts.separator
        parts = PartNames.of_column(target or self.target, corpus.columns, label_parts)
        return evaluate_columns(gold, predicted, corpus.starts, parts=parts)

    def error_analysis(
        self, corpus: Any, *, target: str | None = None, decode: Decode = "viterbi", n_threads: Threads = None
    ) -> ErrorAnalysis:
        """Analyse errors: scores per label, confusions, known and unknown words, partial matches of spans.

        Parameters
        ----------
        corpus
            Corpus, file, or anything that ``trellis.read`` accepts, with gold labels.
        target
            Column with the gold labels (default: the column that the model predicts).
        decode
            ``"viterbi"`` for the best path (default), ``"posterior"`` for the label of highest marginal probability at
            each token.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        ErrorAnalysis
            The analysis, a report.
        """
        corpus, gold = self._labelled(corpus, target)
        return self._error_analysis(corpus, gold, self.tag_column(corpus, decode=decode, n_threads=n_threads))

    def _error_analysis(self, corpus: Corpus, gold: Column, predicted: Column) -> ErrorAnalysis:
        from trellis.evaluation.error_analysis import error_analysis_of

        known, given = None, self._model.vocabulary.given
        if given and given[0].name in corpus.columns and "idle_strings" not in self.training:
            column, seen = corpus.column(given[0].name), set(given[0].values)
            known = np.array([value in seen for value in column.values], bool)[column.codes]
        return error_analysis_of(gold, predicted, corpus.starts, known=known)

    def _labelled(self, source: Any, target: str | None, y: Any = None) -> tuple[Corpus, Column]:
        """A corpus and its gold labels."""
        corpus = read_examples(source, y, target=target or self.target, like=self.training_file)
        return corpus, labels_of(corpus, target or self.target)

    @property
    def training_file(self) -> TrainingFile:
        """Description of the file that the model was trained on."""
        return self._model.training_file

    def top_features(self, n: int | None = 20) -> list[Term]:
        """List the features with the largest absolute weights.

        Parameters
        ----------
        n
            Number of terms (None: all).

        Returns
        -------
        list[Term]
            The terms, largest first, each with its feature and its label or labels.
        """
        from trellis.tasks.tagging.top_features import top_features

        return top_features(self._model, n)

    def support(self) -> list[SupportSequence]:
        """List the label sequences that a dual model (HMSVM, KernelPerceptron) consists of.

        Returns
        -------
        list[SupportSequence]
            Each with its training sentence, its coefficient, and the positions that differ from the gold labels.
        """
        dual = self._model.weights.dual
        if dual is None:
            raise ModelError("this model was not trained in the dual, so it has no support sequences")
        return dual.support.named(self.labels)

    def save(self, path: str | os.PathLike[str], *, weights: Storage = "float32") -> None:
        """Write the model to one file, atomically; a name that ends in ``.crfsuite`` makes a model of CRFsuite.

        Parameters
        ----------
        path
            Name of the file.
        weights
            How weights are stored: ``"float32"`` as they are, ``"float16"`` rounded to half of the size, ``"int8"`` to
            about a quarter; files of CRFsuite have numbers of 64 bits.
        """
        place = file_path("path", path)
        if extension(os.fspath(place)) == ".crfsuite":
            importlib.import_module(OTHER_TOOLS).write_file(self._model, place)
        else:
            super().save(place, weights=weights)

    def _content(self) -> tuple[Tensors, dict[str, Any]]:
        return model_file.tensors_of(self._model), model_file.header_of(self._model)

    @classmethod
    def _from_content(cls, tensors: Tensors, header: dict[str, Any], **needs: Any) -> Self:
        model, kernel = model_file.model_of(tensors, header), needs.get("kernel")
        expansion, dual = model.weights.expansion, model.weights.dual
        wanted = expansion is not None and expansion.kernel.name == "callable"
        if wanted and kernel is None:
            raise ModelError(
                "the kernel is a function, which files do not contain: trellis.load(path, kernel=function)"
            )
        if kernel is not None and not wanted:
            raise ModelError("the model's kernel is not a function; omit kernel")
        if wanted and dual is not None:
            model = replace(model, weights=replace(model.weights, dual=dual.with_function(kernel)))
        return cls(model)

    def _outside(self) -> dict[str, Any]:
        expansion = self._model.weights.expansion
        return {} if expansion is None or expansion.kernel.function is None else {"kernel": expansion.kernel.function}

    def _facts(self) -> dict[str, Any]:
        facts = {"target": self.target, "reads": " ".join(self.columns), "labels": len(self.labels)}
        return {**facts, "order": f"{self.order}", "weights": self._model.weights.n_nonzero}
