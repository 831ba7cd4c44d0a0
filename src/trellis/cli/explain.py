"""``trellis explain``: why a sentence gets its labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trellis.cli.options import Columns, Json, Scheme

if TYPE_CHECKING:
    from trellis.tagger import Tagger


def command(
    model: Annotated[str, typer.Argument(help="The model's file.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD]...",
            help="A sentence; where the model reads several columns, the/DT man/NN. Else standard input.",
        ),
    ] = None,
    scheme: Scheme = None,
    top: Annotated[int, typer.Option(min=1, help="How many features of a label to show.")] = 6,
    labels: Annotated[int, typer.Option(min=1, help="How many labels of a token to show.")] = 3,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Which features speak for and against the labels of a sentence, and why the best labels beat the next best.

    Standard input has a token a line, as for trellis tag, and may have several sentences.
    """
    import json

    from trellis.tagger import load

    tagger = load(model)
    if scheme is not None:
        tagger = tagger.constrained(scheme)
    for number, sentence in enumerate(_given(tagger, words) if words else _read(tagger, columns)):
        explanation = tagger.explain(sentence)
        if as_json:
            print(json.dumps(explanation.to_dict(), ensure_ascii=False))
        else:
            print("\n" * bool(number) + explanation.text(n_labels=labels, n_terms=top))


def _given(tagger: Tagger, words: list[str]) -> list[Any]:
    """One sentence from the words of the command line."""
    from trellis.errors import CorpusError

    n = len(tagger.columns)
    if tagger.model.vocabulary.bag is not None:
        raise CorpusError("", None, "the model reads attributes; give them as JSON lines on standard input")
    if n == 1:
        return [list(words)]
    fields = [tuple(word.rsplit("/", n - 1)) for word in words]
    wrong = next((word for word, parts in zip(words, fields, strict=True) if len(parts) != n), None)
    if wrong is not None:
        raise CorpusError("", None, f"{wrong!r}: the model reads {'/'.join(tagger.columns)}")
    return [fields]


def _read(tagger: Tagger, columns: str | None) -> Iterator[Any]:
    """The sentences of standard input."""
    from trellis.cli.file_shape import FileShape
    from trellis.cli.sentences import sentences_of
    from trellis.corpus.files import STANDARD_STREAM

    shape = FileShape.of(STANDARD_STREAM, None, None, None, like=FileShape.of_training(tagger))
    return sentences_of(tagger, shape.read_for(STANDARD_STREAM, tagger, columns))
