"""Show what is in a model: its labels, templates, heaviest weights, history and sizes.

example:
  trellis info chunk.trellis --top 50
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any

from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import align, show, show_json
from trellis.interfaces.cli.progress import describe as describe_epoch
from trellis.learning.run import Event
from trellis.tasks.tagging.model import Tagger

if TYPE_CHECKING:
    from trellis.tasks.tagging.model import Tagger

LAST_EPOCHS = 5
PRUNED = "{n_candidates:.1f} labels per token, at most {most}; {survival:.2%} of held-out gold labels survive"
RUNS = "{n_runs:.1f} runs of {length} labels per token; {survival:.2%} of held-out gold ones survive"


def describe(parser: Parser) -> None:
    """The options."""
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("place", nargs="?", metavar="MODEL", help="model file")
    model.add_argument("--model", "-m", metavar="MODEL", help="the same, as for other commands")
    parser.add_argument("--top", type=at_least(0), default=20, metavar="N", help="number of the heaviest weights")
    parser.add_argument("--history", action="store_true", help="show every epoch, not only the last ones")
    parser.share("json")


def command(given: Namespace) -> None:
    """Show what is known of the model."""
    path = given.place or given.model
    tagger = Tagger.load(path)
    facts, n_epochs = facts_of(tagger, given.top), None if given.history else LAST_EPOCHS
    facts["sizes"]["bytes"] = len(tagger.to_bytes()) if not Path(path).is_file() else Path(path).stat().st_size
    if given.json:
        show_json(facts)  # with the whole history
    else:
        show(_text(facts, n_epochs))


def facts_of(tagger: Tagger, top: int) -> dict[str, Any]:
    """The model as plain data."""
    model = tagger.model
    rest = {key: value for key, value in tagger.training.items() if key not in ("history", "sentences", "tokens")}
    return {
        "target": tagger.target,
        "columns": list(tagger.columns),
        "two_passes": model.first is not None,
        "order": tagger.order,
        "labels": list(tagger.labels),
        "label_parts": list(model.row_names[len(tagger.labels) :]),
        "prune": None if model.filter is None else model.filter.header,
        "beam": model.weights.beam or None,
        "templates": [str(template) for template in model.vocabulary.templates]
        + (model.vocabulary.bag.templates if model.vocabulary.bag is not None else [])
        + ([] if model.segments is None else [str(template) for template in model.segments.vocabulary.plan.templates]),
        "segments": None if model.segments is None else model.segments.types.longest,
        "training": rest,
        "sizes": {
            "labels": len(tagger.labels),
            "attributes": model.weights.rows.n_attributes,
            "weights": model.weights.n_nonzero,
            "sentences": tagger.training.get("sentences"),
            "tokens": tagger.training.get("tokens"),
        },
        "heaviest": [asdict(weight) for weight in tagger.top_features(top)],
        "history": tagger.training.get("history", []),
    }


def _lengths(facts: dict[str, Any]) -> str:
    """How long segments may be, and how many sentences of training have a longer one."""
    found = [f"{kind or 'all'} {n}" for kind, n in facts["segments"].items()]
    left_out = facts["training"].get("segments", {}).get("sentences_left_out")
    return f"at most {', '.join(found)} tokens" + (f"; {left_out} sentences left out" if left_out else "")


def _counted(templates: list[str]) -> list[str]:
    """Each template once, with how often it occurs."""
    return [f"{text} ({n} times)" if n > 1 else text for text, n in Counter(templates).items()]


def _text(facts: dict[str, Any], n_epochs: int | None) -> str:
    """The facts for readers."""
    sizes, training = facts["sizes"], facts["training"]
    settings = dict(training.get("learner", {}))
    learner = settings.pop("name", "unknown learner")
    given = ", ".join(f"{key}={value}" for key, value in settings.items())
    bagged = f", {training['bagging']} trainings" if "bagging" in training else ""
    updates = f"; {training['update']} updates" if "update" in training else ""
    megabytes, pruned = sizes["bytes"] / 1e6, facts["prune"]
    note = training.get("user", {}).get("note", training.get("note"))  # the user's, or that of an imported model
    rows = [
        ("predicts", f"{facts['target']} from {', '.join(facts['columns'])}{', in two passes' * facts['two_passes']}"),
        ("learner", f"{learner}({given}), order {facts['order']}{bagged}"),
        *([("note", note)] if note else []),
        *(
            [("trained on", f"{sizes['sentences']:,} sentences, {sizes['tokens']:,} tokens")]
            if sizes["sentences"]
            else []
        ),
        ("by", f"trellis {training['version']}" if "version" in training else learner),
        ("sizes", f"{sizes['attributes']:,} attributes, {sizes['weights']:,} weights, {megabytes:.1f} MB"),
        (f"{sizes['labels']} labels", " ".join(facts["labels"])),
        *([(f"{len(facts['label_parts'])} parts", " ".join(facts["label_parts"]))] if facts["label_parts"] else []),
        *([("pruned to", PRUNED.format(**pruned))] if pruned else []),
        *[("", RUNS.format(**level, length=n)) for n, level in enumerate((pruned or {}).get("levels", ()), 2)],
        *([("beam", f"{facts['beam']} states per token, not exact{updates}")] if facts["beam"] else []),
        *([("segments", _lengths(facts))] if facts["segments"] is not None else []),
        (f"{len(facts['templates'])} templates", "; ".join(_counted(facts["templates"]))),
    ]
    wrap = TextWrapper(100, subsequent_indent=" " * 14, break_on_hyphens=False, break_long_words=False)
    parts = ["\n".join(wrap.fill(f"{name:14}{value}") for name, value in rows)]
    if facts["heaviest"]:
        found = [(f"{one['weight']:.3f}", one["label"] or "segment", one["feature"]) for one in facts["heaviest"]]
        parts.append("heaviest weights\n" + align([("weight", "label", "feature"), *found], right=[0]))
    if history := facts["history"]:
        kept = history if n_epochs is None else history[-n_epochs:]
        title = "history" if len(kept) == len(history) else f"history, last {len(kept)} of {len(history)} epochs"
        lines = (f"epoch {entry['epoch']}: {describe_epoch(Event(**entry))}" for entry in kept)
        parts.append("\n".join((title, *lines)))
    return "\n\n".join(parts)
