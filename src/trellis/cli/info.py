"""``trellis info``: what is in a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from trellis.cli.options import Json

if TYPE_CHECKING:
    from trellis.tagger import Tagger


def command(
    model: Annotated[str, typer.Argument(help="The model's file.")],
    top: Annotated[int, typer.Option(min=0, help="How many of the heaviest weights to show.")] = 20,
    as_json: Json = False,
) -> None:
    """Labels, templates, heaviest weights, history and sizes of a model."""
    from pathlib import Path

    from trellis.cli.outputs import print_json
    from trellis.tagger import load

    facts = describe(load(model), top)
    facts["sizes"]["bytes"] = Path(model).stat().st_size
    if as_json:
        print_json(facts)
    else:
        _show(facts)


def describe(tagger: Tagger, top: int) -> dict[str, Any]:
    """The model as plain data."""
    from dataclasses import asdict

    from trellis.tagger.heaviest import heaviest

    model = tagger.model
    rest = {key: value for key, value in tagger.info.items() if key not in ("history", "sentences", "tokens")}
    return {
        "target": tagger.target,
        "columns": list(tagger.columns),
        "order": tagger.order,
        "labels": list(tagger.labels),
        "templates": [str(template) for template in model.vocabulary.templates]
        + ([f"{model.vocabulary.bag[0]}[0]"] if model.vocabulary.bag is not None else []),
        "training": rest,
        "sizes": {
            "labels": len(tagger.labels),
            "attributes": model.weights.rows.n_attributes,
            "weights": model.weights.n_nonzero,
            "sentences": tagger.info.get("sentences"),
            "tokens": tagger.info.get("tokens"),
        },
        "heaviest": [asdict(weight) for weight in heaviest(model, top)],
        "history": tagger.info.get("history", []),
    }


def _show(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from trellis.cli.progress import describe as describe_epoch
    from trellis.learning.events import Event

    console = Console(highlight=False)
    sizes, training = facts["sizes"], facts["training"]
    settings = dict(training.get("learner", {}))
    learner = settings.pop("name", "unknown learner")
    given = ", ".join(f"{key}={value}" for key, value in settings.items())
    megabytes = sizes["bytes"] / 1e6
    rows = {
        "predicts": f"{facts['target']} from {', '.join(facts['columns'])}",
        "learner": f"{learner}({given}), order {facts['order']}",
        "trained on": f"{sizes['sentences'] or 0:,} sentences, {sizes['tokens'] or 0:,} tokens",
        "by": f"trellis {training.get('version', '?')}",
        "sizes": f"{sizes['attributes']:,} attributes, {sizes['weights']:,} weights, {megabytes:.1f} MB",
        f"{sizes['labels']} labels": " ".join(facts["labels"]),
        f"{len(facts['templates'])} templates": "; ".join(facts["templates"]),
    }
    table = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        table.add_row(Text(name, "bold"), Text(value))
    console.print(table)
    if facts["heaviest"]:
        weights = Table(
            "weight", "label", "feature", title="heaviest weights", title_justify="left", box=None
        )
        weights.columns[0].justify = "right"
        for weight in facts["heaviest"]:
            weights.add_row(f"{weight['weight']:.3f}", Text(weight["label"]), Text(weight["feature"]))
        console.print()
        console.print(weights)
    if facts["history"]:
        console.print()
        console.print(Text("history", "italic"))
    for entry in facts["history"]:
        console.print(Text(f"epoch {entry['epoch']}: {describe_epoch(Event(**entry))}"))
