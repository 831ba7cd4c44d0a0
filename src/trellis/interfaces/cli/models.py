"""List the models that are found by name: bundled, in the folders of TRELLIS_MODELS, or in installed packages.

examples:
  trellis models
  trellis models models/
"""

from __future__ import annotations

import json
from argparse import Namespace

from trellis.interfaces.cli.files import metadata_of
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import align, show, show_json
from trellis.tasks.model import FORMATS, TASKS
from trellis.tasks.shelf import FOLDERS, ShelfModel, shelf

COLUMNS = ("name", "task", "language", "licence", "MB", "place")


def describe(parser: Parser) -> None:
    """The options."""
    parser.add_argument(
        "folder", nargs="?", metavar="FOLDER", help=f"folder (default: bundled models, {FOLDERS}, packages)"
    )
    parser.share("json")


def command(options: Namespace) -> None:
    """Show one line per model."""
    models = list(map(_facts, shelf(options.folder)))
    if options.json:
        show_json({"models": models})
    elif models:
        show(align([list(COLUMNS), *([str(model[name]) for name in COLUMNS] for model in models)]))
    else:
        show(f"no models in {options.folder or FOLDERS}")


def _facts(model: ShelfModel) -> dict[str, object]:
    """What the header of a model's file tells."""
    with model.file.open("rb") as file:
        header = metadata_of(file)
        n_bytes = file.seek(0, 2)
    task = FORMATS.get(header.get("format", ""))
    info = json.loads(header.get("text", "{}")).get("info", {})
    return {
        "name": model.name,
        "task": TASKS[task].noun if task else "unknown",
        "language": info.get("language", ""),
        "licence": info.get("licence", ""),
        "MB": round(n_bytes / 1e6, 1),
        "place": model.place,
    }
