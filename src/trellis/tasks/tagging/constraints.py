"""Constraints on labels: rules of a label scheme, and labels allowed by the caller, as terms of potentials."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from trellis._support.arguments import items
from trellis._support.arrays import Bools, Doubles, Floats, Ints, LabelSets, Longs
from trellis._support.errors import ConstraintError, CorpusError
from trellis.corpus.corpus import Corpus
from trellis.corpus.schemes import allowed_transition, belongs, guess_scheme, scheme_named
from trellis.engine.weights import ChainWeights, padded

# Labels allowed in one sentence: by position, or a list with None for positions without constraint. A single label is
# forced.
AllowedLabels = Mapping[int, str | Sequence[str]] | Sequence[str | Sequence[str] | None]


# ------------------------------------------------------------ the rules of a scheme


def scheme_base(labels: Sequence[str], scheme: str) -> tuple[Floats, Floats]:
    """edge [L + 1, stride] and end [stride]: 0, or minus infinity where the scheme forbids a pair or a last label.

    ConstraintError if a label is in no legal sequence: then the labels belong to another scheme.
    """
    edge, end = _scheme_tables(labels, scheme)
    n = len(labels)
    may_follow, may_end = ~np.isneginf(edge[:, :n]), ~np.isneginf(end[:n])
    legal = _closed(may_follow[n], may_follow[:n]) & _closed(may_end, may_follow[:n].T)
    if not legal.all():
        label, guess = labels[int(np.flatnonzero(~legal)[0])], guess_scheme(labels)
        fits = f"; they look like {guess}" if guess not in (None, scheme_named(scheme)) else ""
        raise ConstraintError(f"label {label!r} occurs in no valid {scheme} sequence of these labels{fits}")
    return edge, end


def legal_transitions(labels: Sequence[str], scheme: str) -> Bools:
    """[L + 1, L + 1] whether one label may follow another; the last row and column are the sentence boundary."""
    line = [*labels, None]
    return np.array([[allowed_transition(scheme, previous, label) for label in line] for previous in line], bool)


def _closed(labels: Bools, follows: Bools) -> Bools:
    """Transitive closure: the labels [L] and all that can follow them by follows [L, L]."""
    while (extended := labels | follows[labels].any(axis=0)).tolist() != labels.tolist():
        labels = extended
    return labels


def _scheme_tables(labels: Sequence[str], scheme: str) -> tuple[Floats, Floats]:
    scheme = scheme_named(scheme)
    foreign = next((label for label in labels if not belongs(label, scheme)), None)
    if foreign is not None:
        guess = guess_scheme(labels)
        fits = "" if guess is None else f" ({guess}?)"
        raise ConstraintError(
            f"label {foreign!r} is not a label of the scheme {scheme}; use the scheme of the labels{fits}"
        )
    n, legal = len(labels), legal_transitions(labels, scheme)
    edge, end = np.zeros((n + 1, padded(n)), np.float32), np.zeros(padded(n), np.float32)
    edge[:, :n][~legal[:, :n]] = end[:n][~legal[:n, n]] = -np.inf
    return edge, end


def fitting_scheme(labels: Sequence[str], gold: Ints, starts: Longs) -> str | None:
    """The scheme of a corpus, None if its labels encode no spans.

    The set of labels may fit IOB1 and IOB2, or IOE1 and IOE2; then the scheme is the one with only legal sequences.
    """
    guess = guess_scheme(labels)
    for scheme in {"iob2": ("iob2", "iob1"), "ioe2": ("ioe2", "ioe1")}.get(guess or "", ()):
        if first_illegal(gold, starts, *_scheme_tables(labels, scheme)) is None:
            return scheme
    return guess


def scheme_rules(
    corpus: Corpus, target: str, labels: Sequence[str], gold: Ints, scheme: str, *, guessed: bool = False
) -> tuple[Floats, Floats]:
    """`scheme_base` for a training corpus; CorpusError where its own labels (by number, -1 unknown) break the rules."""
    broken = first_illegal(gold, corpus.starts, *_scheme_tables(labels, scheme))
    if broken is None:
        return scheme_base(labels, scheme)
    token, unfinished = broken
    label = labels[gold[token]]
    if unfinished:
        reason = f"a sentence of {scheme} cannot end with {label!r}"
    elif token in corpus.starts:
        reason = f"a sentence of {scheme} cannot begin with {label!r}"
    else:
        reason = f"{label!r} cannot follow {labels[gold[token - 1]]!r} in {scheme}"
    guess = fitting_scheme(labels, gold, corpus.starts)
    advice = f"use the scheme of the labels ({guess}?)" if guess not in (None, scheme) else "correct the label"
    advice += "" if guessed else " or omit scheme"
    line = None if corpus.lines is None else int(corpus.lines[token])
    place = "" if line is not None else f"token {token} (counted from 0): "
    raise CorpusError(corpus.source, line, f"{place}{reason} (column {target!r}); {advice}")


def forbid(weights: ChainWeights, edge: Floats, end: Floats) -> ChainWeights:
    """Copy minus infinity from the base tables to the weights."""
    old_end = np.zeros_like(end) if weights.end is None else weights.end
    return replace(
        weights,
        edge=np.where(np.isneginf(edge), edge, weights.edge),
        end=np.where(np.isneginf(end), end, old_end),
    )


def first_illegal(path: Ints, starts: Longs, edge: Floats, end: Floats) -> tuple[int, bool] | None:
    """The first token whose label cannot follow the previous label (False) or end its sentence (True).

    Unknown labels (-1) are skipped.
    """
    previous, last = neighbours(path, starts, len(edge) - 1)
    is_known = path >= 0
    wrong = is_known & (previous >= 0) & np.isneginf(edge[previous, path])
    unfinished = is_known & last & np.isneginf(end[path])
    places = np.flatnonzero(wrong | unfinished)
    return (int(places[0]), not bool(wrong[places[0]])) if len(places) else None


def neighbours(path: Ints, starts: Longs, null: int) -> tuple[Longs, Bools]:
    """The preceding label of each token, and the last tokens of sentences."""
    filled = starts[:-1] < starts[1:]
    previous = np.concatenate([[null], path[:-1]]).astype(np.int64)[: len(path)]
    previous[starts[:-1][filled]] = null
    last = np.zeros(len(path), bool)
    last[starts[1:][filled] - 1] = True
    return previous, last


# ------------------------------------------------------------ constraints of the caller


def label_sets(
    allowed: Sequence[AllowedLabels | None],
    labels: Sequence[str],
    starts: Longs,
    otherwise: LabelSets | None = None,
) -> LabelSets:
    """Label sets of all tokens: those allowed by the caller, otherwise the given sets or all labels."""
    check_number(allowed, len(starts) - 1)
    if otherwise is None:
        otherwise = LabelSets.of([range(len(labels))]).at(np.zeros(int(starts[-1]), np.int32))
    number = {label: z for z, label in enumerate(labels)}
    tokens, sets = list[int](), list[list[int]]()
    for entries, begin, end in zip(allowed, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        for t, options in _positions(entries, end - begin):
            if not options:
                raise ConstraintError(f"no label is allowed at position {t}; allow at least one, or use None")
            if unknown := [label for label in options if not isinstance(label, str) or label not in number]:
                raise ConstraintError(f"no label {unknown[0]!r} in this model; its labels are {', '.join(labels)}")
            tokens.append(begin + t)
            sets.append([number[label] for label in options])
    return otherwise.replaced(np.array(tokens, np.int64), LabelSets.of(sets))


def check_number(allowed: Sequence[AllowedLabels | None], n_sentences: int) -> None:
    """ConstraintError unless ``allowed`` is a list with one entry per sentence."""
    if isinstance(allowed, str) or not isinstance(allowed, Sequence):
        raise ConstraintError(f"allowed must be a list with one entry per sentence, not {reprlib.repr(allowed)}")
    if len(allowed) != n_sentences:
        raise ConstraintError(f"constraints for {len(allowed)} sentences, but there are {n_sentences} sentences")


def _positions(lists: AllowedLabels | None, n_tokens: int) -> list[tuple[int, Sequence[str]]]:
    if lists is None:
        return []
    if isinstance(lists, Mapping):
        entries: list[tuple[int, str | Sequence[str] | None]] = list(lists.items())
    elif isinstance(lists, str) or not isinstance(lists, Sequence):
        raise ConstraintError(f"allowed must be a dict by position or a list with one entry per token, not {lists!r}")
    else:
        if len(lists) != n_tokens:
            raise ConstraintError(f"constraints for {len(lists)} tokens, but the sentence has {n_tokens}")
        entries = list(enumerate(lists))
    out = list[tuple[int, Sequence[str]]]()
    for t, options in entries:
        if not isinstance(t, int | np.integer) or not 0 <= t < n_tokens:
            raise ConstraintError(f"a constraint at position {t!r}; positions are 0 to {n_tokens - 1}")
        labels = [options] if isinstance(options, str) else items(options)
        if labels is not None:
            out.append((int(t), labels))
        elif options is not None:
            raise ConstraintError(
                f"the value at position {t} of allowed must be a label or a list of labels, not {options!r}"
            )
    return out


def require_possible(scores: Doubles) -> None:
    """ConstraintError if some sentence's best path or log Z [n_sentences] is minus infinity."""
    impossible = np.flatnonzero(np.isneginf(scores))
    if len(impossible):
        place = f"sentence {impossible[0]} (counted from 0): " if len(scores) > 1 else ""
        raise ConstraintError(
            f"{place}no label sequence keeps to the labels that are allowed and the transitions that are not "
            "forbidden; allow more"
        )
