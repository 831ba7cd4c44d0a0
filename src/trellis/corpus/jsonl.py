"""JSON lines: one sentence per line, an object from column name to list of strings."""

from __future__ import annotations

import json

from trellis._support.errors import CorpusError
from trellis.corpus.columns import PLAIN, Layout
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import NOT_UTF8
from trellis.corpus.objects import Origin, from_records


def parse_jsonl(text: bytes, source: str, layout: Layout) -> Corpus:
    """The corpus in the bytes of a file of JSON lines; blank lines are skipped."""
    records: list[dict[str, object]] = []
    lines: list[int] = []
    for number, line in enumerate(text.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            records.append(_parse_line(line, source, number))
            lines.append(number)
    if not records:
        raise CorpusError(source, None, "no tokens in it; give a file with at least one sentence")
    return from_records(records, layout.names, Origin(source, lines))


def _parse_line(line: bytes, source: str, number: int) -> dict[str, object]:
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError:
        raise CorpusError(source, number, NOT_UTF8) from None
    except json.JSONDecodeError as error:
        why = f"not JSON: {error.msg} at column {error.colno}; write one object per line"
        raise CorpusError(source, number, why) from None
    except ValueError:  # which Python has for numbers of thousands of digits
        raise CorpusError(source, number, "a number with too many digits; write lists of strings") from None
    except RecursionError:
        raise CorpusError(source, number, "JSON nested too deeply; write lists of strings") from None
    if not isinstance(record, dict):
        raise CorpusError(source, number, "not an object; write one object per line, column name to list of strings")
    return record


def format_jsonl(corpus: Corpus, layout: Layout = PLAIN) -> str:
    """The corpus as JSON lines; bags of attributes become objects from name to weight."""
    return "".join(f"{json.dumps(sentence, ensure_ascii=False)}\n" for sentence in corpus)
