"""Train, evaluate and pack pipelines of UD treebanks, and keep a table of their figures.

example:
  python -m experiments.models english french --data treebanks --output models
  python -m experiments.models wheel french --output models
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import trellis
from experiments import RESULTS
from experiments.models.treebanks import TREEBANKS, UDTreebank
from experiments.models.wheel import make_wheel
from trellis._support.errors import ArgumentError
from trellis._support.replacing import replacing
from trellis.interfaces.cli.main import reporting_errors
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import align, show
from trellis.interfaces.cli.progress import say, watch_epochs
from trellis.learning.run import interrupts_raise

MEASURES = ("Words", "Sentences", "UPOS", "XPOS", "UFeats", "Lemmas", "UAS", "LAS", "MLAS", "BLEX")
# Shares of the weights of taggers and parser that small models drop; chosen on the dev file of English-EWT.
SMALL = (0.8, 0.8)
PLACE = Path(RESULTS) / "models"  # one JSON file per model


def main(arguments: Sequence[str]) -> NoReturn:
    """Run a command line and exit."""
    with reporting_errors(), interrupts_raise():
        options = _parser().parse(arguments)
        names = options.names
        if names[0] == "wheel":
            for name in names[1:]:
                say(f"wrote {make_wheel(Path(options.output) / f'{name}.trellis', Path(options.output))}", False)
        else:
            chosen = [one for one in TREEBANKS if names == ["all"] or one.model in names]
            if unknown := set(names) - {one.model for one in TREEBANKS} - {"all"}:
                raise ArgumentError(f"unknown models {', '.join(sorted(unknown))}; see --help")
            for treebank in chosen:
                show(_table([_build(treebank, options)]))
    sys.exit(0)


def _parser() -> Parser:
    parser = Parser("python -m experiments.models", __doc__ or "")
    known = ", ".join(one.model for one in TREEBANKS)
    parser.add_argument(
        "names", nargs="+", metavar="MODEL", help=f"models to make: all, or some of {known}; or: wheel MODEL"
    )
    data = os.environ.get("TRELLIS_DATA", "treebanks")
    parser.add_argument("--data", default=data, metavar="FOLDER", help="folder of the treebanks, UD_English-EWT etc.")
    parser.add_argument("--output", default="models", metavar="FOLDER", help="folder of the models (default: models)")
    sizes = "full, or small: a fifth of the weights, of 8 bits"
    parser.add_argument("--size", choices=("full", "small"), default="full", help=sizes)
    parser.share("threads", "quiet")
    return parser


def _build(treebank: UDTreebank, options: Namespace) -> dict[str, Any]:
    """Train, save and evaluate a model; its figures are kept."""
    files, folder = treebank.files(Path(options.data)), Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    info = {
        "language": treebank.language,
        "code": treebank.code,
        "treebank": f"UD_{treebank.name}",
        "licence": treebank.licence,
        "command": f"python -m experiments.models {treebank.model} --size {options.size}",
    }
    begun = time.perf_counter()
    with watch_epochs(options.quiet) as observer:
        model = trellis.Pipeline.train(files["train"], observer=observer, n_threads=options.threads, info=info)
    seconds = time.perf_counter() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    path = folder / f"{treebank.model}.trellis"
    if options.size == "small":
        model.smaller(*SMALL).save(path, compact="int8")
    else:
        model.save(path, compact="float16")
    loaded = trellis.Pipeline.load(path)
    figures: dict[str, Any] = {**info, "model": treebank.model, "size": options.size}
    for part in ("dev", "test"):
        gold = trellis.Document.from_conllu(files[part])
        for kind, report in (
            ("raw", loaded.evaluate(gold, n_threads=options.threads)),
            ("gold_tokens", loaded.evaluate(gold, n_threads=options.threads, gold_tokens=True)),
        ):
            figures[f"{part}_{kind}"] = {
                name: round(100 * report.rows[name].f1, 2) for name in MEASURES if name in report.rows
            }
    gold = trellis.Document.from_conllu(files["test"])
    begun = time.perf_counter()
    loaded(gold.text, n_threads=1).to_conllu()
    speed = sum(map(len, gold)) / (time.perf_counter() - begun)
    figures |= {
        "bytes": path.stat().st_size,
        "training_seconds": round(seconds),
        "training_megabytes": round(memory),
        "words_per_second": round(speed),
    }
    PLACE.mkdir(parents=True, exist_ok=True)
    with replacing(PLACE / f"{treebank.model}-{options.size}.json", ArgumentError) as temporary:
        temporary.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    return figures


def _table(all_figures: Sequence[dict[str, Any]]) -> str:
    """Figures from raw text of the test files."""
    head = ["model", "size", *MEASURES, "MB", "train s", "words/s"]
    rows = [
        [
            *(one["model"], one["size"]),
            *(f"{one['test_raw'].get(name, 0):.2f}" for name in MEASURES),
            *(f"{one['bytes'] / 1e6:.1f}", str(one["training_seconds"]), str(one["words_per_second"])),
        ]
        for one in all_figures
    ]
    return align([head, *rows], right=range(2, len(head)))


if __name__ == "__main__":
    main(sys.argv[1:])
