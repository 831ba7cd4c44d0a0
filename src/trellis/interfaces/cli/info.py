"""Show the content of a model and how it was trained: sizes, labels, templates, largest weights, training history.

example:
  trellis info -m chunk.trellis --top 50
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

from trellis._support.errors import ArgumentError
from trellis.interfaces.cli.files import open_model
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import align, show, show_json
from trellis.learning.run import Event
from trellis.tasks.model import Model

LAST_EPOCHS = 5
PRUNED = "{n_candidates:.1f} candidate labels per token, at most {most}; recall {survival:.2%} on held-out data"
RUNS = "{n_runs:.1f} candidate label {length}-grams per token; recall {survival:.2%} on held-out data"


def describe(parser: Parser) -> None:
    """The options."""
    parser.take()
    parser.add_argument("--top", type=at_least(0), default=20, metavar="N", help="number of largest weights to show")
    parser.add_argument("--history", action="store_true", help=f"show all epochs, not only the last {LAST_EPOCHS}")
    parser.share("json")


def command(options: Namespace) -> None:
    """Show the facts."""
    if options.json and options.history:
        raise ArgumentError("--json cannot be combined with --history: it has all epochs")
    model, path = open_model(options), Path(options.model)
    n_bytes = path.stat().st_size if path.is_file() else len(model.to_bytes())
    facts = {**facts_of(model, options.top), "bytes": n_bytes}
    if options.json:
        show_json(facts)  # with the whole history
    else:
        show(facts_text(facts, None if options.history else LAST_EPOCHS))


def facts_of(model: Model, top: int) -> dict[str, Any]:
    """The model as plain data: its summary, its parts, the user's notes, the record of training."""
    largest = [asdict(term) for term in model.top_features(top)]
    facts = {"task": model.task, "summary": model.summary(), **_parts(model)}
    return {**facts, "info": model.info, "training": model.training, "top_features": largest}


def _parts(model: Any) -> dict[str, Any]:
    """The parts of a model that its summary only counts."""
    if model.task == "words":
        model = model.tagger
    if model.task == "parse":
        return {"labels": list(model.labels), "templates": [str(t) for t in model.vocabulary.templates.all]}
    if model.task != "tag":
        return {}
    chain = model.model
    bag, segments = chain.vocabulary.bag, chain.segments
    templates = [str(template) for template in chain.vocabulary.templates] + ([] if bag is None else bag.templates)
    templates += [] if segments is None else [str(template) for template in segments.vocabulary.plan.templates]
    return {
        "labels": list(model.labels),
        "label_parts": list(chain.row_names[len(model.labels) :]),
        "two_passes": chain.first is not None,
        "prune": None if chain.filter is None else chain.filter.header,
        "beam": chain.weights.beam or None,
        "segments": None if segments is None else segments.types.longest,
        "templates": templates,
    }


def facts_text(facts: dict[str, Any], n_epochs: int | None) -> str:
    """The facts for readers, with so many epochs of the history (None: all)."""
    training = facts["training"]
    rows = {**facts["summary"], **_rows(facts, training)}
    if facts.get("bytes"):
        rows["size"] = f"{facts['bytes'] / 1e6:.1f} MB"
    wrap = TextWrapper(100, subsequent_indent=" " * 14, break_on_hyphens=False, break_long_words=False)
    pairs = ((name, f"{value:,}" if type(value) is int else f"{value}") for name, value in rows.items())
    parts = ["\n".join(wrap.fill(f"{name:13} {value}") for name, value in pairs)]
    if facts["top_features"]:
        terms = [(f"{term['weight']:.3f}", term["label"] or "-", term["feature"]) for term in facts["top_features"]]
        parts.append("largest weights\n" + align([("weight", "label", "feature"), *terms], right=[0]))
    if history := training.get("history"):
        epochs = history if n_epochs is None else history[-n_epochs:]
        title = "training history"
        title += "" if len(epochs) == len(history) else f", last {len(epochs)} of {len(history)} epochs"
        parts.append("\n".join((title, *(Event(**entry).text() for entry in epochs))))
    return "\n\n".join(parts)


def _rows(facts: dict[str, Any], training: dict[str, Any]) -> dict[str, str]:
    """Rows about the parts of a model."""
    lists = {name.replace("_", " "): facts.get(name) for name in ("labels", "label_parts")}
    rows: dict[str, str | None] = {"note": training.get("note")}  # of a model of another tool
    rows |= {name: f"{len(names)}: {' '.join(names)}" for name, names in lists.items() if names}
    rows["bagging"] = f"mean of {training['bagging']} models" if "bagging" in training else None
    rows["passes"] = "2, over documents" if facts.get("two_passes") else None
    if pruned := facts.get("prune"):
        levels = [RUNS.format(**level, length=n) for n, level in enumerate(pruned.get("levels", ()), 2)]
        rows["pruning"] = "; ".join([PRUNED.format(**pruned), *levels])
    if facts.get("beam"):
        updates = f"; {training['update']} updates" if "update" in training else ""
        rows["beam"] = f"{facts['beam']} states per token, inexact search{updates}"
    if facts.get("segments") is not None:
        longest = ", ".join(f"{kind or 'all'} {n}" for kind, n in facts["segments"].items())
        skipped = training.get("segments", {}).get("sentences_left_out")
        rows["segments"] = f"at most {longest} tokens" + (f"; {skipped} sentences skipped" if skipped else "")
    if templates := facts.get("templates"):
        lines = [f"{text} ({n} times)" if n > 1 else text for text, n in Counter(templates).items()]
        rows["templates"] = f"{len(templates)}: {'; '.join(lines)}"
    return {name: text for name, text in rows.items() if text is not None}
