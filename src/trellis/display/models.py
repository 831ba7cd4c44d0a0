"""Taggers, reports, explanations and k-best lists as pieces of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trellis.display.html import Html, bar, colours_of, element, folded, percent, piece, table
from trellis.display.texts import mark

SHOWN_WEIGHTS, SHOWN_NAMES, SHOWN_LABELS, SHOWN_TERMS = 12, 20, 3, 8


def model_html(name: str, facts: Mapping[str, object], weights: Sequence[Any]) -> str:
    """A model of any kind: its facts by name, and its heaviest weights."""
    parts = [element("b", name), table(facts.items())]
    if weights:
        rows = [(term.feature, term.label, term.weight) for term in weights]
        parts.append(folded(f"the {len(rows)} heaviest weights", _bars(rows, ("feature", "label", "weight"))))
    return piece(*parts)


def tagger_html(tagger: Any) -> str:
    """A tagger: its labels and columns, its training, its heaviest weights."""
    info, labels = tagger.info, ", ".join(tagger.labels[:SHOWN_NAMES])
    more = f", and {len(tagger.labels) - SHOWN_NAMES} more" if len(tagger.labels) > SHOWN_NAMES else ""
    facts = {
        "labels": f"{tagger.target}: {labels}{more}",
        "reads": ", ".join(tagger.columns),
        "order": str(tagger.order),
        "weights": f"{tagger.model.weights.n_nonzero:,}",
    }
    learner = dict(info.get("learner", {}))
    if learner:
        name = learner.pop("name", "")
        facts["learner"] = f"{name}({', '.join(f'{key}={value!r}' for key, value in learner.items())})"
    if "sentences" in info:
        facts["trained on"] = f"{info['sentences']:,} sentences, {info['tokens']:,} tokens"
    scores = [event["dev_score"] for event in info.get("history", []) if "dev_score" in event]
    if scores:
        facts["best score on dev"] = f"{100 * max(scores):.2f}%"
    return model_html("Tagger", facts, tagger.heaviest(SHOWN_WEIGHTS))


def report_html(report: Any) -> str:
    """The figures of an evaluation."""
    rows: list[tuple[str, object]] = [
        ("sentences", report.n_sentences),
        ("without a mistake, %", percent(report.sentence_accuracy)),
        ("tokens", report.n_tokens),
        ("right, %", percent(report.token_accuracy)),
    ]
    parts = [table(rows)]
    if report.spans is not None:
        parts.append(scores_table({"all spans": report.spans.micro, **report.spans.types}))
    if report.parts is not None:
        parts.append(
            table([(name, percent(share)) for name, share in report.parts.accuracy.items()], ("part", "right"))
        )
        parts.append(scores_table(report.parts.features))
    return piece(*parts)


def details_html(found: Any) -> str:
    """What a tagging gets wrong."""
    parts = [element("p", f"labels, macro-averaged F1 {100 * found.macro_f1:.2f}"), scores_table(found.labels)]
    if found.n_known is not None:
        shares = (("known words", found.known_accuracy), ("unknown words", found.unknown_accuracy))
        parts.append(table([(name, percent(share)) for name, share in shares if share is not None], ("", "right, %")))
    if found.confusions:
        parts.append(table(found.confusions[:10], ("true label", "label given", "times")))
    if found.partial is not None:
        rows = [(name, *map(percent, (one.precision, one.recall, one.f1))) for name, one in found.partial.items()]
        parts.append(table(rows, ("spans, also in part", "precision", "recall", "F1")))
    return piece(*parts)


def scores_table(scores: Mapping[str, Any]) -> Html:
    """Precision, recall and F1 by name."""
    rows = [
        (name, *map(percent, (one.precision, one.recall, one.f1)), one.gold, one.predicted, one.correct)
        for name, one in scores.items()
    ]
    return table(rows, ("", "precision", "recall", "F1", "gold", "found", "right"))


def explanation_html(explanation: Any) -> str:
    """Why a sentence gets its labels: per token what speaks for and against, and why the best path beats the next."""
    tokens = explanation.tokens
    colours = colours_of(token.label for token in tokens)
    marks = [mark(token.token, token.label, colours[token.label], None) for token in tokens]
    parts: list[Html] = [element("p", Html(" ".join(marks)))]
    if explanation.second is not None:
        terms = explanation.difference[: 2 * SHOWN_TERMS]
        rows = [(tokens[term.token].token, term.feature, term.label, term.weight) for term in terms]
        why = f"the best path beats the second, {' '.join(explanation.second.labels)}, by {explanation.gap:.3f}"
        parts.append(folded(why, _bars(rows, ("token", "feature", "with", "weight")), open="open"))
    return piece(*parts, *map(_token, tokens))


def _token(token: Any) -> Html:
    rows: list[tuple[object, ...]] = [
        (label, f"{score:+.3f}", _bars([(term.feature, term.weight) for term in token.terms[label][:SHOWN_TERMS]]))
        for label, score in list(token.scores.items())[:SHOWN_LABELS]
    ]
    rows += [(term.label, term.feature, f"{term.weight:+.3f}") for term in token.transitions]
    return folded(f"{token.token}: {token.label}", table(rows))


def _bars(rows: Sequence[tuple[Any, ...]], head: Sequence[str] = ()) -> Html:
    """A table whose last column, of weights, is drawn as bars."""
    greatest = max((abs(row[-1]) for row in rows), default=0.0)
    return table([(*row[:-1], bar(row[-1], greatest)) for row in rows], head)


def paths_html(paths: Sequence[tuple[list[str], float]]) -> str:
    """The k best label sequences; labels that differ from the best path are marked."""
    colours = colours_of(label for labels, _ in paths for label in labels)
    rows = []
    for rank, (labels, score) in enumerate(paths, start=1):
        cells = [
            label if label == best else element("mark", label, style=f"background:{colours[label]}")
            for label, best in zip(labels, paths[0][0], strict=True)
        ]
        rows.append((rank, f"{score:.4f}", *cells))
    return piece(table(rows, ("", "score")))
