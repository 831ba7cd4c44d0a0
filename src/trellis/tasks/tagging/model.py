"""The trained model as its user meets it."""

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
Allowed = Constraints | None  # labels that are allowed in each sentence
Threads = int | None  # None: all cores
SCORES = {"token": "token accuracy", "sentence": "sentence accuracy", "span": "span F1"}


class Tagger(Model):
    """Labels sequences. Get one from ``trellis.train`` or ``trellis.load``.

    A sentence is a list of strings; where the model reads several columns, a list of tuples or a dict of column name
    to list of strings; where it reads free-form attributes, a list of dicts or of lists of strings (beside other
    columns, they are the last of the tuple).
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
        self.labels, self.columns = model.labels, model.columns  # the columns that it reads

    @property
    def target(self) -> str:
        """The column it predicts."""
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
        """The record of its training: version, learner, sizes, history."""
        return self._model.training

    @property
    def model(self) -> ChainModel:
        """The model as data."""
        return self._model

    @property
    def probability_kind(self) -> ProbabilityKind:
        """What its marginals are: probabilities, or of a learner without them confidences, a softmax of scores."""
        return "confidence" if self._model.family == "scores" else "probability"

    @property
    def temperature(self) -> float:
        """By which scores are divided before they become probabilities or confidences; see ``calibrated``."""
        return self._model.temperature

    def tag(self, sentence: Sentence, *, decode: Decode = "viterbi", allowed: AllowedLabels | None = None) -> list[str]:
        """The best labels of a sentence: the best path, or with decode="posterior" the best label of each token.

        ``allowed`` restricts labels: {position: label or labels}, or a list with None where any label will do. It
        overrules the tag dictionary. ConstraintError if no label sequence is left.
        """
        if decode == "viterbi" and allowed is None and self._decoder.plain:
            return self._decoder.tag_one(sentence)
        return self.tag_batch([sentence], decode=decode, allowed=one(allowed), n_threads=1)[0]

    def tag_batch(
        self, sentences: Sentences, *, decode: Decode = "viterbi", allowed: Allowed = None, n_threads: Threads = None
    ) -> list[list[str]]:
        """The best labels of many sentences. ``n_threads``: the number of threads (default: all cores)."""
        n_threads, decoder = thread_count(n_threads), self._decoder
        if decode == "viterbi" and allowed is None and decoder.plain:
            return decoder.best(decoder.encode(sentences, n_threads), n_threads)
        return decoder.named(*decoder.best_codes(sentences, decode, allowed, n_threads))

    def tag_corpus(self, corpus: Any, *, decode: Decode = "viterbi", n_threads: Threads = None) -> Corpus:
        """The corpus, or what ``trellis.read`` takes, with the best labels as its column ``target``."""
        sentences = read_like(corpus, self.training_file)
        return sentences.with_column(self.target, self.tag_column(sentences, decode=decode, n_threads=n_threads))

    def tag_column(self, corpus: Corpus, *, decode: Decode = "viterbi", n_threads: Threads = None) -> Column:
        """The best labels of a corpus as a column."""
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
        """Label running text: its sentences and words are found by ``trellis.tokenize``, and keep their places.

        With ``lines`` every line is a sentence. With ``confidence`` labels and spans have their probabilities.
        """
        from trellis.corpus.tokens import tokenize
        from trellis.tasks.tagging.text import tag_sentences

        sentences = tokenize(text, lines=lines)
        return tag_sentences(self, text, sentences, confidence=confidence, decode=decode, n_threads=n_threads)

    def kbest(self, sentence: Sentence, k: int = 5, *, allowed: AllowedLabels | None = None) -> KBest:
        """The k best label sequences with their scores, best first; fewer if there are not as many.

        Of a voted perceptron, by its averaged weights: the first need not be what ``tag`` gives.
        """
        return KBest(self.kbest_batch([sentence], k, allowed=one(allowed), n_threads=1)[0])

    def kbest_batch(
        self, sentences: Sentences, k: int, *, allowed: Allowed = None, n_threads: Threads = None
    ) -> list[list[tuple[list[str], float]]]:
        """The k best label sequences of many sentences with their scores."""
        from trellis.tasks.tagging.constraints import require_possible

        k, outputs, best = whole_number("k", k, 1, 1_000_000), list[list[tuple[list[str], float]]](), list[float]()
        for chains in self._decoder.searched(sentences, allowed, threads := thread_count(n_threads)):
            paths, scores, counts = chains.kbest(k, threads)
            best += scores[:, 0].tolist()
            names = [self.labels[z] for z in paths.tolist()]  # of no meaning where a sentence has fewer paths
            rows = zip(pairwise(chains.starts.tolist()), scores.tolist(), counts.tolist(), strict=True)
            for (begin, end), row, count in rows:
                n, first = end - begin, k * begin
                outputs.append([(names[first + r * n : first + r * n + n], row[r]) for r in range(count)])
        require_possible(np.array(best))
        return outputs

    def marginals(self, sentence: Sentence, *, edges: bool = False, allowed: AllowedLabels | None = None) -> Posterior:
        """The probability of each label at each position: ``marginals(sentence)[t]["B-NP"]``; ``node`` is an array.

        With ``edges`` also of label pairs. They are probabilities, or of a learner that has none (perceptron)
        confidences, the softmax of path scores at the model's temperature: ``probability_kind`` says which.
        """
        return self.marginals_batch([sentence], edges=edges, allowed=one(allowed), n_threads=1)[0]

    def marginals_batch(
        self, sentences: Sentences, *, edges: bool = False, allowed: Allowed = None, n_threads: Threads = None
    ) -> list[Posterior]:
        """The marginals of many sentences."""
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
        """The logarithm of the sum over all label sequences of exp(score / temperature), of each sentence.

        A label sequence with score s has the probability exp(s / temperature - log_partition).
        """
        pieces = self._decoder.pieces(sentences, None, threads := thread_count(n_threads))
        return [log_z for chains in pieces for log_z in chains.log_partition(threads, self.temperature).tolist()]

    def span_probability(
        self, sentence: Sentence, span: Span | tuple[str, int, int], *, allowed: AllowedLabels | None = None
    ) -> float:
        """The probability that exactly this span (label, start_token, end_token) is in the output.

        The exact sum over all label sequences that have it. Of a learner without probabilities it is a confidence.
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
        """The spans of the best labels, each with its confidence: the exact probability where ``measure`` says so."""
        return self.tag_spans_batch([sentence], decode=decode, allowed=one(allowed), n_threads=1)[0]

    def tag_spans_batch(
        self, sentences: Sentences, *, decode: Decode = "viterbi", allowed: Allowed = None, n_threads: Threads = None
    ) -> list[list[tuple[Span, float]]]:
        """The spans of many sentences with their confidences."""
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
        """A tagger that never emits a label sequence that the scheme (iob1, iob2, ioe1, ioe2, iobes...) forbids."""
        from trellis.corpus.schemes import scheme_named
        from trellis.tasks.tagging.constraints import forbid, scheme_base

        weights = forbid(self._model.weights, *scheme_base(self.labels, scheme))
        training = {**self.training, "scheme": scheme_named(scheme)}
        return Tagger(replace(self._model, weights=weights, training=training))

    def pruned(self, margin: float | None) -> Tagger:
        """A tagger whose filter keeps labels that score at most ``margin`` less than the best one; None: no filter.

        Of a model that was trained with ``Search(prune=)``. A larger margin keeps more labels.
        """
        if margin is None:
            return Tagger(replace(self._model, filter=None))
        if self._model.filter is None:
            raise ModelError("the model has no filter; train it with search=trellis.Search(prune=True)")
        label_filter = replace(self._model.filter, margin=real_number("margin", margin, 0.0))
        return Tagger(replace(self._model, filter=label_filter))

    def calibrated(self, dev: Any, *, target: str | None = None, n_threads: Threads = None) -> Tagger:
        """A tagger whose temperature is fitted to held-out sentences (a Corpus or what ``trellis.read`` takes).

        It minimises the negative log-likelihood of the gold labels under their marginals. Best paths stay the same;
        marginals and confidences change, also in the saved model.
        """
        from trellis.tasks.tagging.calibration import calibrate

        corpus, gold = self._labelled(dev, target)
        return Tagger(calibrate(self._decoder, corpus, gold, thread_count(n_threads)))

    def reliability(
        self, corpus: Any, *, target: str | None = None, n_bins: int = 10, n_threads: Threads = None
    ) -> Calibration:
        """How well calibrated it is: reliability tables of labels, and of spans where labels mark them."""
        corpus, gold = self._labelled(corpus, target)
        return self._reliability(corpus, gold, self.tag_column(corpus, n_threads=n_threads), n_bins, n_threads)

    def _reliability(
        self, corpus: Corpus, gold: Column, predicted: Column, n_bins: int = 10, n_threads: Threads = None
    ) -> Calibration:
        from trellis.tasks.tagging.calibration import measure_reliability

        kind, threads = self.probability_kind, thread_count(n_threads)
        return measure_reliability(self._decoder, kind, corpus, gold, predicted.codes, n_bins, threads)

    def explain(self, sentence: Sentence, *, allowed: AllowedLabels | None = None) -> TaggingExplanation:
        """Why it gives these labels: each token's features with their weights, and why path 1 beats path 2."""
        from trellis.tasks.tagging.explain import explain

        return explain(self, sentence, allowed)

    def draw(self, sentence: Sentence, *, most_labels: int = 12, allowed: AllowedLabels | None = None) -> Picture:
        """The trellis of a sentence as a picture: tokens across, labels down, the best path bold.

        The larger a label and the wider a line, the more probable. Labels that matter least are left out, and so are
        tokens after the 200th.
        """
        from trellis.tasks.tagging.drawing import draw

        return draw(self, sentence, most_labels, allowed)

    def _score_name(self) -> str:
        from trellis.corpus.schemes import guess_scheme

        name = SCORES.get(self.training.get("metric", "auto"))
        return name or SCORES["token" if guess_scheme(self.labels) is None else "span"]

    def score(self, sentence: Sentence, labels: Sequence[str]) -> float:
        """The score of a label sequence: the sum of the weights (if voted, of the averaged ones) of its features."""
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
        """Compare its labels with those in a column of a corpus, or of what ``trellis.read`` takes, or with ``y``.

        ``y`` has the labels of sentences that are given without, as in ``trellis.train``.

        ``label_parts`` is what separates the parts of labels, which are then counted too (default: as in training, and
        ``|`` where it labels two columns, ``upos+feats``).
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
        """Scores per label, confusions, accuracy of known and unknown words, partial matches of spans."""
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
        """What it knows of the file that it was trained on."""
        return self._model.training_file

    def top_features(self, n: int | None = 20) -> list[Term]:
        """The n weights farthest from zero (None: all), each with the name of its feature and its label or labels."""
        from trellis.tasks.tagging.top_features import top_features

        return top_features(self._model, n)

    def support(self) -> list[SupportSequence]:
        """The label sequences that a model learnt in the dual (HMSVM, KernelPerceptron) is made of.

        Each has the number of its training sentence, how much it counts, and where it differs from the gold labels.
        """
        dual = self._model.weights.dual
        if dual is None:
            raise ModelError("this model was not trained in the dual, so it has no support sequences")
        return dual.support.named(self.labels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one file; with a name that ends in ``.crfsuite``, as one of CRFsuite."""
        place = file_path("path", path)
        if extension(os.fspath(place)) == ".crfsuite":
            importlib.import_module(OTHER_TOOLS).write_file(self._model, place)
        else:
            super().save(place)

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
