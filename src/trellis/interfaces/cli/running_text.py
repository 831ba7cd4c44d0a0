"""Running text in, piece by piece; its words with labels out."""

from __future__ import annotations

import codecs
import json
import re
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import message_name, reading
from trellis.corpus.tokens import Token, tokenize
from trellis.interfaces.cli.labelled_files import PIECE_BYTES
from trellis.tasks.tagging.text import TaggedText, tag_sentences

if TYPE_CHECKING:
    from trellis.tasks.tagging.model import Tagger

LONGEST = 1 << 24  # characters that may wait for the end of a sentence

Sentences = list[list[Token]]
Piece = tuple[int, str, Sentences]  # where it begins in the text, its own text, its sentences

_WORD = re.compile(r"[^\s\ufeff]+")


def text_pieces(options: Namespace, *, whole: bool = False) -> Iterator[Piece]:
    """The sentences of running text, as many at once as are there; or all, for a model that looks at documents."""
    by_line, split = _splitter(options)
    if whole:
        text = "".join(_decoded(options.source))
        yield 0, text, split(text)
        return
    rest, base, ended, enough = "", 0, False, 0
    for text in _decoded(options.source):
        ended = not text
        rest += text
        if ended:
            cut, sentences = len(rest), split(rest)
        elif by_line:
            cut = rest.rfind("\n") + 1
            sentences = split(rest[:cut])
        elif len(rest) < enough:  # what had no end a moment ago is not looked at again for every few letters
            continue
        else:  # the last sentence may go on
            sentences = split(rest)
            cut = sentences[-1][0].start if len(sentences) > 1 else 0
            sentences.pop() if sentences else None
            if not sentences and len(rest) > LONGEST:
                cut = max(rest.rfind(" "), rest.rfind("\n")) + 1 or len(rest)
                sentences = split(rest[:cut])
        yield base, rest[:cut], sentences
        rest, base = rest[cut:], base + cut
        enough = 2 * len(rest) if not cut else 0


def text_corpus(sentences: Sentences, column: str) -> Corpus:
    """The words of sentences as a corpus."""
    from trellis.corpus.objects import from_mapping

    return from_mapping({column: [[token.text for token in sentence] for sentence in sentences]}, None)


def labelled_texts(options: Namespace, tagger: Tagger) -> Iterator[tuple[str, int]]:
    """The lines of every piece, inline or as JSON, and how many words it has."""
    for base, text, sentences in text_pieces(options, whole=tagger.model.first is not None):
        if sentences:
            wanted = options.confidence and options.json
            tagged = tag_sentences(
                tagger,
                text,
                sentences,
                confidence=wanted,
                decode=options.decode or "viterbi",
                n_threads=options.threads,
            )
            lines = _json(tagged, base) if options.json else map(tagged.inline, tagged)
            yield "".join(f"{line}\n" for line in lines), sum(map(len, sentences))


def _json(tagged: TaggedText, base: int) -> Iterator[str]:
    return (json.dumps(record, ensure_ascii=False) for record in tagged.to_dicts(offset=base))


def _splitter(options: Namespace) -> tuple[bool, Callable[[str], Sentences]]:
    """Whether a line is a sentence, and how a text becomes sentences."""
    by_line = options.lines or options.words
    return by_line, _words if options.words else lambda text: tokenize(text, lines=by_line)


def _words(text: str) -> Sentences:
    """Every line is a sentence, and words stand between blanks."""
    sentences: Sentences = []
    at = 0
    for line in text.splitlines(keepends=True):
        found = [Token(match[0], at + match.start(), at + match.end()) for match in _WORD.finditer(line)]
        sentences += [found] if found else []
        at += len(line)
    return sentences


def _decoded(path: str) -> Iterator[str]:
    """The text of a file in pieces, and an empty one at its end."""
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    with reading(path) as file:
        while True:
            block = file.read1(PIECE_BYTES)  # type: ignore[attr-defined]
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line += error.object.count(b"\n", 0, error.start)
                why = "not valid UTF-8; convert the file, for example with iconv -t UTF-8"
                raise CorpusError(message_name(path), line, why) from None
            if text or not block:
                yield text
            if not block:
                if text:
                    yield ""
                return
            line += text.count("\n")
