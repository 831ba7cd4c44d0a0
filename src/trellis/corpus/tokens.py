"""Rule-based tokenizer: splits text into sentences and words.

The rules are mainly for European languages: punctuation is separated, ``don't`` is ``do n't`` and ``l'homme`` is ``l'
homme`` as in treebanks, abbreviations include their full stop. Unspaced scripts (Chinese, Japanese) are split into
characters; ``trellis.Segmenter`` does this better. Every token has its offsets in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from trellis._support.errors import ArgumentError


class Token(NamedTuple):
    """A word with its offsets in the text.

    Attributes
    ----------
    text
        The word.
    start
        Offset of its first character.
    end
        Offset after its last character.
    """

    text: str
    start: int
    end: int


def tokenize(text: str, *, lines: bool = False) -> list[list[Token]]:
    """Split text into sentences and words. An empty line ends a sentence; otherwise punctuation does.

    Parameters
    ----------
    text
        The text.
    lines
        Whether every line is a sentence.

    Returns
    -------
    list[list[Token]]
        Sentences, each a list of tokens with offsets.

    Examples
    --------
    >>> import trellis
    >>> [[token.text for token in sentence] for sentence in trellis.tokenize("Ann ran. It rained.")]
    [['Ann', 'ran', '.'], ['It', 'rained', '.']]
    >>> trellis.tokenize("Ann ran.")[0][1]
    Token(text='ran', start=4, end=7)
    """
    if not isinstance(text, str):
        raise ArgumentError(f"text must be a string, not {type(text).__name__}")
    gaps = [match.span() for match in (_NEW_LINE if lines else _EMPTY_LINE).finditer(text)]
    begins, ends = [0, *(end for _, end in gaps)], [*(begin for begin, _ in gaps), len(text)]
    return [
        sentence
        for begin, end in zip(begins, ends, strict=True)
        for sentence in _sentences(_tokens(text, begin, end), is_complete=lines)
    ]


_NEW_LINE = re.compile(r"[\n\r\u2028\u2029]+")
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n|\u2029")

# Characters outside words: the Unicode blocks of punctuation and symbols, and punctuation of single scripts.
_SIGNS = (
    r"!-/:-@\[-^`{-\u007f\u0080-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7\u0387\u055a-\u055f\u0589"
    r"\u05be\u05c0\u05c3\u05f3\u05f4\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u0e3f\u0e5a\u0e5b\u1361-\u1368"
    r"\u2000-\u200b\u200e-\u206f\u20a0-\u20cf\u2100-\u214f\u2190-\u2bff\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030"
    r"\ufe10-\ufe1f\ufe30-\ufe6f\ufeff\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\U0001f000-\U0001faff"
)
_LETTER = rf"[^\s{_SIGNS}]"
_ALONE = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"  # kana and Han characters
_PICTURE = r"[\u2600-\u27bf\U0001f300-\U0001faff]"
_ABBREVIATIONS = (
    "Mrs?|Ms|Dr|Prof|Rev|Hon|Gen|Col|Sgt|Capt|Lt|Gov|Sen|Rep|Pres|St|Mt|Jr|Sr|Inc|Ltd|Co|Corp|Bros|Nos?|vs|etc|al|cf|ca|"
    "approx|dept|est|figs?|eds?|vols?|pp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Ave|Blvd|Rd|bzw|usw|Nr|Str|evtl|"
    "ggf|Mme|Mlle"
)
_TITLE = re.compile(r"(?:Mrs?|Ms|Dr|Prof|Rev|Hon|Gen|Col|Sgt|Capt|Lt|Gov|Sen|Rep|vs|cf|Mme|Mlle)\.")  # ends no sentence

# One alternative per line; the first match is used.
_TOKEN = re.compile(
    rf"""
    (?:https?://|www\.)[^\s<>"]*[^\s<>"'.,;:!?)\]}}\u2019\u201d]
  | [\w.+-]{{1,64}}@[\w-]+(?:\.[\w-]+)+
  | [@\#]\w+
  | {_ALONE}
  | [\U0001f1e6-\U0001f1ff]{{2}} | {_PICTURE}(?:\ufe0f|[\U0001f3fb-\U0001f3ff]|\u200d{_PICTURE})*
  | (?:[^\W\d_]\.){{2,12}}(?!\w)
  | (?<!\w)(?:{_ABBREVIATIONS})\.
  | (?<![\w.])[A-Z]\.(?=\s+\w)
  | \d+(?:[.,:/]\d+)+(?:(?!{_ALONE}){_LETTER})*
  | [A-Za-z](?:\+\+|\#)
  | (?:(?!{_ALONE}){_LETTER})+(?:['’\-\u2010\u2011](?:(?!{_ALONE}){_LETTER})+)*
  | ['’](?:[sdmSDM]|ll|re|ve|LL|RE|VE)(?!\w)
  | \.{{2,}} | -{{2,}} | [!?]{{2,}} | ``|''
  | [^\s\u200b\ufeff]
    """,
    re.VERBOSE,
)
_CLITIC = re.compile(r".(?=(?:n['’]t|['’](?:s|d|m|ll|re|ve))$)", re.IGNORECASE)  # do|n't, dog|'s
_ELISION = re.compile(r"(?:(?:[cdjlmnst]|(?:jus|lors|puis)?qu)['’](?=\w)|(?:[CDJLMNST]|Qu)['’](?=[^\W\d_A-Z]))")

_END = frozenset(".!?…。！？؟।")
_ALWAYS_ENDS = frozenset("。！？")
_CLOSING = frozenset("\"'”’»)]}」』''")
_STARTER = re.compile("The|An?|It|He|She|We|They|You|I|In|On|At|But|And|This|That|These|There|If|When|As|For|So")


def _tokens(text: str, begin: int, end: int) -> Iterator[Token]:
    """The words of a part of a text."""
    for match in _TOKEN.finditer(text, begin, end):
        word, start = match[0], match.start()
        if ("'" not in word and "’" not in word) or len(word) < 3:
            yield Token(word, start, match.end())
            continue
        cut = _CLITIC.search(word) or _ELISION.match(word)
        for a, b in pairwise(sorted({0, cut.end() if cut else 0, len(word)})):
            yield Token(word[a:b], start + a, start + b)


def _sentences(tokens: Iterator[Token], *, is_complete: bool) -> Iterator[list[Token]]:
    """Group words by sentence; one sentence if ``is_complete``."""
    sentence: list[Token] = []
    ended = False  # whether the sentence can end here
    for token in tokens:
        if ended and not is_complete:
            is_gap = token.start > sentence[-1].end
            if (not is_gap and token.text in _CLOSING) or _END.issuperset(token.text):
                sentence.append(token)
                continue
            if sentence[-1].text in _ALWAYS_ENDS or (is_gap and _begins(token.text, sentence)):
                yield sentence
                sentence = []
            ended = False
        sentence.append(token)
        ended = token.text[-1] in _END and _TITLE.fullmatch(token.text) is None
    if sentence:
        yield sentence


def _begins(word: str, sentence: list[Token]) -> bool:
    """Whether a word can begin a new sentence after text that may end in an abbreviation."""
    previous = sentence[-1].text
    if len(previous) > 1 and previous[-1] == "." and previous[0].isalpha():
        return _STARTER.fullmatch(word) is not None
    if word[0].islower():  # as everywhere in a text without capitals
        return sentence[0].text[0].islower()
    return word[0].isalnum() or word[0] in "\"'“‘«([¿¡`-–—•*@#$€£" or ord(word[0]) > 0x2E7F
