"""Steps shared by all trainings: options, sample weights, checkpoints, dev scores, the loop and the training record."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

import trellis
from trellis import _core
from trellis._support.arguments import LARGEST, thread_count
from trellis._support.arrays import Doubles
from trellis._support.errors import ArgumentError, CorpusError, LearnerError
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.corpus.read import read, read_examples
from trellis.corpus.stream import CorpusStream
from trellis.learning.checkpoint import Checkpoint
from trellis.learning.learner import Learner, choice
from trellis.learning.options import flat_options_of, groups_of, options_of, plain
from trellis.learning.run import Event, Observer, keeping_epochs

M = TypeVar("M")
P = TypeVar("P")


def _check_options(kind: type, options: Mapping[str, Any]) -> SimpleNamespace:
    """Check and convert all options and fill in defaults; options of groups appear under their own names."""
    declared, values = options_of(kind), dict[str, Any](options)
    if unknown := next((name for name in options if name not in declared), None):
        raise ArgumentError(f"unknown option {unknown!r}; {_hint(kind, unknown, options)}")
    for name, members in groups_of(kind).items():
        group, check = values.pop(name, None), declared[name].check
        group = declared[name].default if group is None or check is None else check.check(name, group)
        values |= {field.flat: getattr(group, member) for member, field in members.items()}
    checked = SimpleNamespace()
    for name, option in flat_options_of(kind).items():
        value = values.get(name, option.default)
        if value is None and not option.nullable:
            value = option.default
        if value is not option.default and option.check is not None:
            value = option.check.check(name, value)
        setattr(checked, name, value)
    if checked.dev is None and checked.patience is not None:
        raise LearnerError("patience needs a dev corpus: dev=...")
    if checked.dev is None and checked.metric != "auto":
        raise LearnerError("metric needs a dev corpus: dev=...")
    if checked.checkpoint is None and checked.checkpoint_every is not None:
        raise LearnerError("checkpoint_every needs checkpoint=...")
    checked.n_threads = thread_count(checked.n_threads)
    return checked


def _hint(kind: type, unknown: str, options: Mapping[str, Any]) -> str:
    """Hint for an unknown option: its group, its learner, or a similar name."""
    call, declared = "trellis.{}({}={!r})".format, options_of(kind)
    for name, members in groups_of(kind).items():
        if member := next((member for member, field in members.items() if unknown in (member, field.flat)), None):
            return f"give {name}={call(type(declared[name].default).__name__, member, options[unknown])}"
    learner = options.get("learner") or (declared["learner"].default if "learner" in declared else None)
    if isinstance(learner, Learner) and unknown in learner.parameters():
        example = call(type(learner).__name__, unknown, options[unknown])
        return f"{unknown} is a parameter of the learner: learner={example}"
    if unknown in inspect.signature(read).parameters:
        return f"{unknown} is an option of reading: train on trellis.read(data, {unknown}={options[unknown]!r})"
    similar = difflib.get_close_matches(unknown, declared, 1)
    return f"did you mean {similar[0]!r}?" if similar else f"the options are {', '.join(declared)}"


def corpus_of(source: Any, purpose: str, target: str | None = None) -> Corpus:
    """The corpus that is read from a source; CorpusError without a token to "train on" or "compare epochs on"."""
    if isinstance(source, CorpusStream):
        source = source.corpus()
    corpus = source if isinstance(source, Corpus) else read_examples(source, target=target or "label")
    if not corpus.n_tokens:
        raise CorpusError(corpus.source, None, f"no sentences to {purpose}; at least one is required")
    return corpus


def check_dev_labels(dev: Corpus, column: Column, labels: Iterable[str]) -> None:
    """CorpusError if no label of the dev corpus occurs in training: every epoch would have score 0."""
    values = {column.values[code] for code in np.unique(column.codes).tolist()}
    if values.isdisjoint(labels):
        first_values = ", ".join(sorted(values)[:3])
        raise CorpusError(
            dev.source, None, f"no label of the dev corpus ({first_values}) occurs in training; use another dev corpus"
        )


class Fit:
    """One training: its checked options, and the steps that do not depend on the task.

    Parameters
    ----------
    kind
        TypedDict of the task's options.
    options
        The options that were given.
    metrics
        Names of the figures by which epochs can be compared; None: the task checks ``metric``.
    rejected
        Options that have no effect here, with the reason: a LearnerError if one is given.

    Raises
    ------
    ArgumentError
        For a name that is not declared, with the most similar one.
    LearnerError
        For a value that is not allowed, or one without effect for want of another.
    """

    __slots__ = ("declared", "differing", "explicit", "kind", "options", "settings")

    def __init__(
        self,
        kind: type,
        options: Mapping[str, Any],
        *,
        metrics: Iterable[str] | None = None,
        rejected: Mapping[str, str] | None = None,
    ) -> None:
        self.kind, self.declared, self.options = kind, flat_options_of(kind), options
        self.explicit = [name for name, value in options.items() if value is not None]
        self.settings = _check_options(kind, options)
        settings = vars(self.settings)
        if metrics is not None and self.settings.metric != "auto":
            choice(*metrics).check("metric", self.settings.metric)
        self.differing = {
            name: _json(settings[name])
            for name, option in self.declared.items()
            if option.role == "setting" and settings[name] != option.default
        }
        self.reject(rejected or {})

    def changed(self, **options: Any) -> Fit:
        """Copy with some options replaced."""
        return Fit(self.kind, {**self.options, **options}, metrics=None)

    def reject(self, reasons: Mapping[str, str]) -> None:
        """LearnerError if an option without effect was passed; the message states the reason."""
        for name, reason in reasons.items():
            if name in self.explicit:
                raise LearnerError(f"{name} has no effect {reason}; omit it")

    @property
    def learner(self) -> Any:
        """The learner, or the task's own; a task may have one that only counts, known by its name."""
        return self.settings.learner

    @property
    def notes(self) -> dict[str, Any]:
        """The notes of the user."""
        return dict(self.settings.info or {})

    @property
    def observer(self) -> Observer | None:
        """The observer called after every epoch: the user's function, with ``verbose`` also one that prints."""
        observer: Observer | None = self.settings.observer
        if not self.settings.verbose:
            return observer

        def report(event: Event) -> None:
            sys.stderr.write(f"{event.text()}\n")
            if observer is not None:
                observer(event)

        return report

    def weights(self, n: int, unit: str = "sentence") -> Doubles | None:
        """Checked sample weights of ``n`` examples."""
        if self.settings.sample_weight is None:
            return None
        try:
            weights = np.array(self.settings.sample_weight, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise LearnerError(f"sample_weight must be one number per {unit}") from None
        if weights.shape != (n,):
            raise LearnerError(f"sample_weight needs one number per {unit}, {n}, not {weights.shape}")
        if not ((weights >= 0) & (weights <= LARGEST)).all():
            raise LearnerError(f"sample_weight must be numbers from 0 to {LARGEST:g}")
        if not weights.any():
            raise LearnerError(f"sample_weight is 0 for every {unit}: no training data remains")
        self.settings.sample_weight = weights
        return weights

    def scheduled(self, problem: P, data: str, *parts: object) -> P:
        """The problem with the checkpoint of this training and the stopping criterion.

        What is equal in all options but those of the run, in the digest of the ``data`` and in ``parts`` gives the same
        weights, for any number of threads.
        """
        checkpoint = None
        if self.settings.checkpoint is not None:
            values = [getattr(self.settings, name) for name, option in self.declared.items() if option.role != "run"]
            key = fingerprint(trellis.__version__, data, values, parts)
            checkpoint = Checkpoint(self.settings.checkpoint, self.settings.checkpoint_every or 1, key)
        return replace(problem, patience=self.settings.patience, checkpoint=checkpoint)  # type: ignore[type-var]

    def learn(self, problem: Any) -> tuple[Any, list[Event]]:
        """Run all epochs; return weights and history. Ctrl-C stops training after the current epoch."""
        learner: Learner = self.learner
        continued = "" if self.settings.checkpoint is None else "; the same call continues from the checkpoint"
        with keeping_epochs(self.observer, continued) as observer:
            return learner.fit(problem, observer)

    def scorer(self, held_out: Any) -> Callable[[Any], float] | None:
        """The metric of a model on held-out data; None without held-out data."""
        if held_out is None:
            return None
        return lambda model: model.evaluate(held_out, n_threads=self.settings.n_threads).figure(self.settings.metric)

    def run(
        self,
        problem: Any,
        assemble: Callable[[Any, dict[str, Any]], M],
        data: object,
        score: Callable[[Any], float] | None = None,
        /,
        **facts: Any,
    ) -> M:
        """Learn from a problem; the model that ``assemble`` makes of the weights and the record of the training.

        ``score`` is that of a model on the held-out data; ``data`` are the examples and what they depend on beside the
        options, of which the digests are made; ``facts`` are further entries of the record.
        """
        digest = fingerprint(data)
        if score is not None:
            problem = replace(problem, score_dev=lambda weights: score(assemble(weights, {})))
        learnt, history = self.learn(self.scheduled(problem, digest))
        return assemble(learnt, self.record(history, digest, **facts))

    def record(self, history: Sequence[Event], digest: str, /, **facts: Any) -> dict[str, Any]:
        """The training record stored in the model."""
        scores = [event.dev_score for event in history if event.dev_score is not None]
        record = {
            "version": trellis.__version__,
            "date": time.strftime("%Y-%m-%d", time.gmtime(float(os.environ.get("SOURCE_DATE_EPOCH") or time.time()))),
            "learner": _described(self.learner),
            "digest": digest,
            "options": self.differing,
            **({"metric": _json(self.settings.metric), "dev_score": max(scores)} if scores else {}),
            **facts,
            "history": [event.to_dict() for event in history],
        }
        converted: dict[str, Any] = json.loads(json.dumps(record, default=plain))
        return converted


def fingerprint(*values: object) -> str:
    """Digest of data, equal in every process; trainings with different digests are different."""
    digest = hashlib.blake2b(digest_size=16)

    def add(value: Any) -> None:
        if isinstance(value, np.ndarray):
            digest.update(f"{value.dtype}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).data)
        elif isinstance(value, Mapping):
            add([list(value), list(value.values())])
        elif isinstance(value, list | tuple):
            digest.update(f"[{len(value)}]".encode())
            for item in value:
                add(item)
        elif isinstance(value, Strings):
            add((value.data, value.starts))
        elif isinstance(value, Column):
            add(value.values.take(value.codes))
        elif isinstance(value, Corpus):
            add(corpus_digest(value))
        elif isinstance(value, _core.Encoded):
            sizes = (value.n_attributes, value.n_edge_attributes)
            add((value.starts, value.lists, value.edge_lists, value.sets, sizes))
            if value.segments is not None:
                add(value.segments["lists"])
        elif isinstance(value, Learner):
            add((type(value).__name__, json.dumps(value.epoch_parameters(), default=plain)))
        elif hasattr(value, "to_bytes") and not isinstance(value, int):  # a model
            digest.update(value.to_bytes())
        elif is_dataclass(value):
            add([getattr(value, field.name) for field in fields(value)])
        elif callable(value):
            add(_name(value))
        else:
            assert value is None or isinstance(value, str | int | float | np.generic | Path), value
            digest.update(f"{value!r};".encode())

    add(values)
    return digest.hexdigest()


def corpus_digest(corpus: Corpus) -> str:
    """Digest of sentences; independent of chunk boundaries and of the numbering of values."""
    return digest_of_sums(digest_sums(corpus, 0))


WORD = 2**64


def digest_sums(corpus: Corpus, token: int) -> dict[tuple[str, str, int], int]:
    """Sums for the digest of a corpus, for sentences from that token on; sums of several corpora can be added."""
    sums = dict[tuple[str, str, int], int]()

    def add(name: str, field: str, numbers: npt.NDArray[Any], places: npt.NDArray[Any]) -> None:
        for seed in (1, 2):  # 64 bits each
            mixed = _mixed(
                numbers.astype(np.uint64) + _mixed(places.astype(np.uint64) * np.uint64(4) + np.uint64(seed))
            )
            key = name, field, seed
            sums[key] = (sums.get(key, 0) + int(mixed.sum(dtype=np.uint64))) % WORD

    for chunk in corpus.chunks():
        tokens = token + np.arange(chunk.n_tokens)
        add("", "sentences", np.diff(chunk.starts), token + chunk.starts[:-1])
        for name, column in chunk.columns.items():
            strings = column.values if isinstance(column, Column) else column.names
            hashes = b"".join(hashlib.blake2b(string.encode(), digest_size=8).digest() for string in strings)
            hashed = np.frombuffer(hashes, np.uint64)
            if isinstance(column, Column):
                add(name, "strings", hashed[column.codes], tokens)
                continue
            sizes, values = np.diff(column.starts), column.full_values().view(np.uint32).astype(np.uint64)
            within = np.arange(len(column.ids)) - np.repeat(column.starts[:-1] - column.starts[0], sizes)
            places = _mixed(np.repeat(tokens, sizes)) + within.astype(np.uint64)
            add(name, "attributes", hashed[column.ids] ^ _mixed(values), places)
        token += chunk.n_tokens
    return sums


def digest_of_sums(sums: Mapping[tuple[str, str, int], int]) -> str:
    """The digest of a corpus from the result of ``digest_sums``."""
    return fingerprint([(*part, number % WORD) for part, number in sorted(sums.items())])


def _mixed(numbers: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """All bits of each number mixed (the finaliser of SplitMix64)."""
    x = numbers.astype(np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _described(learner: Learner | str) -> dict[str, Any]:
    """The name and the parameters of a learner."""
    return {"name": learner} if isinstance(learner, str) else {"name": type(learner).__name__, **learner.parameters()}


def _json(value: Any) -> Any:
    """Convert a setting to a JSON-compatible value."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return _name(value) if callable(value) else value


def _name(function: Any) -> str:
    """The name of a function, the same in every process."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))
