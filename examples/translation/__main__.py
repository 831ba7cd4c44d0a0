"""Learn to translate, and compare ways to learn the weights: a table of BLEU."""

from __future__ import annotations

import argparse
import gc
import importlib.util
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import trellis
from examples.translation.alignment import align
from examples.translation.corpus import Pair, read_pairs
from examples.translation.decoder import Decoder
from examples.translation.features import FeatureSet
from examples.translation.generated import generated_pairs
from examples.translation.language_model import LanguageModel
from examples.translation.learning import SETTINGS, Setting, bleu, learn, translate, untuned
from examples.translation.phrases import PhraseTable

PARTS = ("train", "tune", "test")
GENERATED = {"train": 1500, "tune": 500, "test": 200}  # pairs of sentences


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    name: str
    dev: float  # BLEU of the held-out fifth of the sentences to tune on, by which epochs were compared
    test: float
    seconds: float  # of learning, CPU time


def prepare(train: Sequence[Pair], *, beam: int, distortion: int) -> Decoder:
    """Everything that is counted: alignment, phrases, language model."""
    table = PhraseTable(train, align(train))
    return Decoder(table, FeatureSet.of(train, LanguageModel([pair.target for pair in train])), beam, distortion)


def compare(
    decoder: Decoder, tune: Sequence[Pair], test: Sequence[Pair], settings: Mapping[str, Setting | None]
) -> list[Row]:
    """A row per way to learn, in turn; None: the untuned weights."""
    dev = [pair for i, pair in enumerate(tune) if i % 5 == 4]
    pairs = [pair for i, pair in enumerate(tune) if i % 5 != 4]
    rows = []
    for name, setting in settings.items():
        begun = time.process_time()
        model = untuned(decoder) if setting is None else learn(decoder, pairs, setting, dev=dev)
        seconds = time.process_time() - begun
        on_dev, on_test = (
            bleu(translate(model, [pair.source for pair in part]), [pair.target for pair in part])
            for part in (dev, test)
        )
        rows.append(Row(name, on_dev, on_test, seconds))
        print(f"| {name:20} | {on_dev:5.2f} | {on_test:5.2f} | {seconds:6.0f} |", flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; 2 where the input is wrong."""
    names = ("untuned", *SETTINGS)
    parser = argparse.ArgumentParser(prog="python -m examples.translation", description=__doc__)
    for part in PARTS:
        what = f"files to {part} on, a sentence per line; without any a generated pair of languages"
        parser.add_argument(f"--{part}", nargs=2, metavar=("SOURCE", "TARGET"), help=what)
    parser.add_argument("--learn", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--scale", type=float, help="what perceptrons start from: more makes smaller steps (100)")
    parser.add_argument("--beam", type=int, default=10, help="hypotheses per number of translated words (10)")
    parser.add_argument("--distortion", type=int, default=5, help="how far a phrase may jump, in words (5)")
    asked = parser.parse_args(arguments)
    given = [part for part in PARTS if getattr(asked, part)]
    if given and len(given) < len(PARTS):
        parser.error("give --train, --tune and --test, or none of them")
    if asked.scale is not None and not 0 < asked.scale < 1e6:
        parser.error("--scale must be above 0 and below a million")
    if asked.beam < 1 or asked.distortion < 0:
        parser.error("--beam must be at least 1, and --distortion at least 0")
    if importlib.util.find_spec("sacrebleu") is None:
        parser.error("sacrebleu is missing, which counts BLEU: pip install -r examples/translation/requirements.txt")
    try:
        if given:
            train, tune, test = (read_pairs(*getattr(asked, part)) for part in PARTS)
        else:
            train, tune, test = (generated_pairs(GENERATED[part], seed) for seed, part in enumerate(PARTS))
    except trellis.TrellisError as error:
        print(error, file=sys.stderr)
        return 2
    begun = time.process_time()
    decoder = prepare(train, beam=asked.beam, distortion=asked.distortion)
    gc.freeze()  # the phrase table stays to the end; looking through it again and again takes long
    seconds = time.process_time() - begun
    print(f"{len(train):,} pairs of sentences, {len(decoder.table):,} phrase pairs, {seconds:.0f} s")
    print("| weights              | BLEU, held out | BLEU, test | seconds |\n| --- | --- | --- | --- |")
    settings = {name: SETTINGS.get(name) for name in asked.learn}
    for name, setting in settings.items():
        if asked.scale is not None and setting is not None and isinstance(setting.learner, trellis.Perceptron):
            settings[name] = replace(setting, scale=asked.scale)
    compare(decoder, tune, test, settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
