"""Templates as data: a small language for features.

    template   = [ name ":" ] ( "bias" | part { "&" part } )
    part       = "is_first" | "is_last" | measure | labels | "label" | look
    measure    = "length" | "outline" | "direction" | "distance"
    labels     = "label[" ( offset [ ".." offset ] | "any" | "same" ) "]"
    look       = column "[" place "]" | function "(" look { "," argument } ")"
    place      = offset | ( "first" | "last" | "split" | "head" | "dep" | "sibling" ) [ offset ] | "segment" | "between"

``word[-1] & suffix(word[0], 3)`` is the word before together with the last three letters of this one; see
docs/features.md, of segments docs/segments.md, of arcs docs/parsing.md, of phrases docs/trees.md. Templates of the same
name share their features. A column whose name is no plain word, or is "label", stands in double quotes; a quote inside
is doubled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trellis._support.arguments import is_text
from trellis._support.errors import TemplateError, UnknownFunctionError
from trellis.features.functions import (
    COUNTED,
    FILED,
    LONGEST,
    MATCHED,
    NAMES,
    OWN,
    PATTERNED,
    PLAIN,
    SIZED,
    VECTORS,
)
from trellis.features.regex import unreadable

MAX_OFFSET = 99
MAX_DEPTH = 50  # nesting depth of functions
MAX_DIGITS = 18  # of a number
SHOWN = 1000  # letters of a template in a message

# Places other than tokens, and measures, by site. Ranges cover several words, so they have no offset.
SEGMENT_PLACES, ARC_PLACES = ("first", "last", "segment"), ("head", "dep", "sibling", "between")
SEGMENT_MEASURES, ARC_MEASURES = ("length",), ("direction", "distance")
PHRASE_PLACES, PHRASE_MEASURES = ("first", "last", "split"), ("length", "outline")
PLACES = tuple(dict.fromkeys((*SEGMENT_PLACES, *ARC_PLACES, *PHRASE_PLACES)))
MEASURES = tuple(dict.fromkeys((*SEGMENT_MEASURES, *ARC_MEASURES, *PHRASE_MEASURES)))
RANGES = ("segment", "between")


@dataclass(frozen=True, slots=True)
class Call:
    """A function of one value with its arguments."""

    name: str
    arguments: tuple[str | int, ...] = ()

    def __post_init__(self) -> None:
        for argument in self.arguments:
            if isinstance(argument, str) and not is_text(argument):
                reason = f"{self.name} has the argument {argument!r}, which is not valid UTF-8"
                raise TemplateError(f"{reason}; rename the file, or decode the text properly")


def vector_file(calls: Sequence[Call]) -> str | None:
    """The file of the vectors that functions of a value give; None if they give a string."""
    return str(calls[-1].arguments[0]) if calls and calls[-1].name in VECTORS else None


@dataclass(frozen=True, slots=True)
class Look:
    """One place and the functions applied to its value, from the left.

    The column "" stands for the first input column, whatever its name.
    """

    column: str
    offset: int
    calls: tuple[Call, ...] = ()
    # Origin of the offset: "" for the token, or a place of another site; or a measure of the site.
    place: str = ""

    def __str__(self) -> str:
        if self.calls and self.calls[0].name == "outside":
            return "is_first" if self.offset < 0 else "is_last"
        if self.place in MEASURES:
            return self.place
        plain = _NAME.fullmatch(self.column) and self.column != "label"
        column = self.column if plain else _quoted(self.column)
        offset = f"{self.offset:+}" if self.place and self.offset else "" if self.place else self.offset
        text = f"{column}[{self.place}{offset}]"
        for call in self.calls:
            quoted = [_quoted(a) if isinstance(a, str) else str(a) for a in call.arguments]
            text = f"{call.name}({', '.join([text, *quoted])})"
        return text


def history_name(n: int) -> str:
    """Name of the n preceding labels."""
    return "label[-1]" if n == 1 else f"label[-{n}..-1]"


FAR = 128  # as in core/engine/beam.hpp; n tokens before is FAR + n
FAR_KINDS = {"any": 254, "same": 255}


@dataclass(frozen=True, slots=True)
class Template:
    """A conjunction of looks; no look at all is the bias, which fires everywhere."""

    looks: tuple[Look, ...]
    history: int = 0  # number of preceding labels, combined with the token's label
    name: str = ""  # templates with the same name share their features
    far: str = ""  # a label further back, combined with the token's label: "-3", "any" or "same"
    labelled: bool = False  # of an arc: combined with its label

    @property
    def history_code(self) -> int:
        """Code of the labels used besides the token's label (core/engine/beam.hpp)."""
        if not self.far:
            return self.history
        return FAR_KINDS[self.far] if self.far in FAR_KINDS else FAR - int(self.far)

    @property
    def labels(self) -> str:
        """The labels used besides the token's label, as text; empty if there are none."""
        return f"label[{self.far}]" if self.far else history_name(self.history) if self.history else ""

    @property
    def of_vectors(self) -> bool:
        """Whether it is a template of vectors, with numeric values."""
        return any(vector_file(look.calls) is not None for look in self.looks)

    @property
    def of_segment(self) -> bool:
        """Whether it describes a whole segment instead of a token."""
        return any(look.place in (*SEGMENT_PLACES, *SEGMENT_MEASURES) for look in self.looks)

    @property
    def of_arc(self) -> bool:
        """Whether it describes an arc of a dependency tree."""
        return self.labelled or any(look.place in (*ARC_PLACES, *ARC_MEASURES) for look in self.looks)

    def __str__(self) -> str:
        parts = ([self.labels] if self.labels else []) + ["label"] * self.labelled + [str(look) for look in self.looks]
        return (f"{self.name}: " if self.name else "") + (" & ".join(parts) or "bias")


_NAME = re.compile(r"[^\W\d]\w*")
_PLAIN = re.compile(r"(?!label\[)([^\W\d]\w*)\[([+-]?\d\d?)\]")
_TOKEN = re.compile(
    r"""\s*(?:(?P<name>[^\W\d]\w*)|(?P<int>[+-]?\d+)|(?P<text>"(?:[^"]|"")*")|(?P<sign>\.\.|[\[\](),&:]))"""
)


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


class _Parser:
    """Recursive-descent parser of one template; errors state the position."""

    def __init__(self, text: str, of_phrases: bool = False) -> None:
        self.of_phrases = of_phrases
        self.text, self.tokens, self.next = text, list[tuple[str, str, int]](), 0
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                raise self.error(f"unexpected character {text[at]!r}", at)
            kind = str(match.lastgroup)
            value, begin, at = match[kind], match.start(kind), match.end()
            if kind == "int" and len(value) > MAX_DIGITS:
                raise self.error(f"a number of {len(value):,} digits", begin)
            self.tokens.append((kind, value[1:-1].replace('""', '"') if kind == "text" else value, begin))
        self.n_tokens = len(self.tokens)
        self.tokens += [("end", "end of template", len(text))] * 3  # two may be looked past

    def error(self, reason: str, at: int | None = None) -> TemplateError:
        place = at if at is not None else self.peek()[2]
        text = self.text if len(self.text) <= SHOWN else f"{self.text[:SHOWN]}..."
        return TemplateError(f"template {text!r}, character {place + 1}: {reason}")

    def peek(self, ahead: int = 0) -> tuple[str, str, int]:
        return self.tokens[self.next + ahead]

    def take(self, kind: str, value: str | None = None) -> str:
        token = self.peek()
        if token[0] != kind or (value is not None and token[1] != value):
            raise self.error(f"expected {value or kind}, found {token[1]!r}")
        self.next += 1
        return token[1]

    def template(self) -> Template:
        name = ""
        if self.peek()[0] == "name" and self.peek(1)[1] == ":":
            name = self.take("name")
            self.take("sign", ":")
        if self.peek()[:2] == ("name", "bias") and self.peek(1)[0] == "end":
            return Template((), name=name)
        looks, labels, far, at, labelled = list[Look](), set[int](), list[str](), 0, False
        while True:
            if self.peek()[:2] == ("name", "label") and self.peek(1)[1] in ("&", "end of template"):
                labelled = bool(self.take("name"))
            elif self.peek()[:2] == ("name", "label") and self.peek(1)[1] == "[":
                at = self.peek()[2]
                preceding = self.labels_before()
                if isinstance(preceding, str):
                    far.append(preceding)
                else:
                    labels |= preceding
            else:
                looks.append(self.look())
            if self.peek()[0] == "end":
                break
            self.take("sign", "&")
        if len(labels) == 1 and labels != {-1}:
            far.append(str(labels.pop()))
        if len(far) > 1 or (far and labels):
            raise self.error("a label further back cannot be combined with other labels: write two templates", at)
        if labels and min(labels) != -len(labels):  # not -k .. -1
            longest = history_name(-min(labels))
            raise self.error(f"a template of several preceding labels must include all of them: write {longest}", at)
        template = Template(tuple(looks), len(labels), name, "".join(far), labelled)
        if any(look.place and look.calls and look.calls[-1].name in MATCHED for look in looks):
            raise self.error(f"{', '.join(MATCHED)} apply to tokens, not to arcs or segments", 0)
        if any(look.calls and look.calls[-1].name in VECTORS for look in looks) and (
            len(looks) > 1 or template.history_code or template.labelled or looks[0].place
        ):
            raise self.error("vector(...) applies to a token, and cannot be combined with other parts or labels", 0)
        if self.of_phrases:
            self.check_phrase(template)
        elif template.of_arc:
            self.check_arc(template)
        elif any(look.place in ("split", "outline") for look in template.looks):
            raise self.error("split and outline apply to phrases, in a TreeParser", 0)
        elif template.of_segment:
            self.check_segment(template)
        return template

    def check_arc(self, template: Template) -> None:
        places = [look.place for look in template.looks]
        if template.history_code or template.name or not all(place in (*ARC_PLACES, *ARC_MEASURES) for place in places):
            raise self.error("a template of arcs cannot read tokens, segments or preceding labels, and has no name", 0)
        if places.count("between") > 1:
            raise self.error("a template can read [between] only once", 0)
        if template.labelled and "sibling" in places:
            raise self.error("label can be combined with the head and the dependent, not with a sibling", 0)
        if any(call.name in COUNTED for look in template.looks for call in look.calls):
            raise self.error(f"{', '.join(COUNTED)} cannot be used in templates of arcs", 0)

    def check_phrase(self, template: Template) -> None:
        places = {look.place for look in template.looks}
        if template.history_code or template.name or template.labelled or places - {*PHRASE_PLACES, *PHRASE_MEASURES}:
            raise self.error(
                "a template of phrases can read first, last, split, length and outline only, and has no name", 0
            )
        if "split" in places and len(places) > 1:
            raise self.error("a template cannot read both a split point and a phrase: write two templates", 0)

    def check_segment(self, template: Template) -> None:
        if template.history_code or template.name or not all(look.place for look in template.looks):
            raise self.error("a template of segments cannot read tokens or preceding labels, and has no name", 0)
        if sum(look.place == "segment" for look in template.looks) > 1:
            raise self.error("a template can read a whole segment only once", 0)
        for look in template.looks:
            filed = [call.name for call in look.calls if call.name in FILED or call.name in COUNTED]
            if filed and (look.place != "segment" or filed != ["listed"] or look.calls[-1].name != "listed"):
                raise self.error('templates of segments can read files only by listed(word[segment], "file")', 0)

    def labels_before(self) -> str | set[int]:
        self.take("name")
        self.take("sign", "[")
        at = self.peek()[2]
        if self.peek()[1] in FAR_KINDS:
            kind = self.take("name")
            self.take("sign", "]")
            return kind
        if self.peek()[0] != "int":
            raise self.error(f"expected a number, any or same after label[, not {self.peek()[1]!r}", at)
        first = last = self.number()
        if self.peek()[1] == ".." and self.peek()[0] == "sign":
            self.take("sign", "..")
            last = self.number()
        if not first <= last < 0:
            reason = 'preceding labels are label[-1] or label[-2..-1]; for a column named label write "label"[0]'
            raise self.error(reason, at)
        self.take("sign", "]")
        return set(range(first, last + 1))

    def number(self) -> int:
        at = self.peek()[2]
        offset = int(self.take("int"))
        if abs(offset) > MAX_OFFSET:
            raise self.error(f"an offset must be from -{MAX_OFFSET} to {MAX_OFFSET}", at)
        return offset

    def place(self) -> tuple[str, int]:
        self.take("sign", "[")
        place, offset = "", 0
        if self.peek()[0] == "name":
            at, place = self.peek()[2], self.take("name")
            if place not in PLACES:
                raise self.error(f"a position must be an offset or one of {', '.join(PLACES)}, not {place!r}", at)
        if not place or (self.peek()[0] == "int" and place not in RANGES):
            offset = self.number()
        self.take("sign", "]")
        return place, offset

    def look(self, depth: int = 0) -> Look:
        kind, word, at = self.peek()
        if depth > MAX_DEPTH:
            raise self.error(f"more than {MAX_DEPTH} nested functions", at)
        self.take("text" if kind == "text" else "name")
        if self.peek()[1] == "[":
            if kind == "name" and word == "label" and self.peek(1)[1] in FAR_KINDS:
                raise self.error("preceding labels cannot be arguments of a function; combine them with &", at)
            place, offset = self.place()
            return Look(word, offset, place=place)
        if self.peek()[1] != "(" or kind == "text":
            if kind == "name" and word in ("is_first", "is_last"):
                return Look("", -1 if word == "is_first" else 1, (Call("outside"),))
            if kind == "name" and word in MEASURES:
                return Look("", 0, place=word)
            text = word if word.isprintable() else repr(word)
            raise self.error(f"expected {text}[offset] or {text}(...)", at)
        if word not in NAMES and word not in OWN:
            unknown = self.error(f"no function {word!r}; the functions are {', '.join((*NAMES, *OWN))}", at)
            raise UnknownFunctionError(str(unknown), word)
        self.take("sign", "(")
        inner_at = self.peek()[2]
        inner = self.look(depth + 1)
        if inner.column == "":
            rule = "is_first, is_last and measures such as length cannot be arguments of functions; combine them with &"
            raise self.error(rule, inner_at)
        if word in COUNTED and inner.calls:
            raise self.error(f"{word} takes a word itself, not a function of it", inner_at)
        inside = {call.name for call in inner.calls}
        if inside & {*MATCHED} or (word in MATCHED and inside & {*FILED, *COUNTED}):
            raise self.error(f"{', '.join(MATCHED)} take a word or a simple function of it", at)
        if inside & {*VECTORS} or (word in VECTORS and inside & {*FILED, *COUNTED}):
            raise self.error("vector takes a word or a simple function of it", at)
        arguments = list[str | int]()
        while self.peek()[1] == "," and self.peek()[0] == "sign":
            self.take("sign", ",")
            kind = self.peek()[0]
            if kind not in ("int", "text"):
                raise self.error('an argument must be a number or a quoted "text"')
            value = self.take(kind)
            arguments.append(int(value) if kind == "int" else value)
        self.take("sign", ")")
        self.check(word, arguments, at)
        return replace(inner, calls=(*inner.calls, Call(word, tuple(arguments))))

    def check(self, name: str, arguments: list[str | int], at: int) -> None:
        if name in PATTERNED and arguments and (reason := unreadable(str(arguments[0]))):
            raise self.error(f"{name}: {reason}", at)
        match arguments:
            case [] if name in PLAIN or name in OWN or name in MATCHED:
                return
            case [int(k)] if name in SIZED and 1 <= k <= 100:
                return
            case [int(k)] if name in COUNTED and 0 <= k <= 100:
                return
            case [str(text)] if name in (*FILED, *MATCHED, *VECTORS) or (name in PATTERNED and len(text) <= LONGEST):
                return
            case [str(), int(k)] if name == "cluster" and k >= 1:
                return
        wants = {
            "cluster": '"file" and perhaps a length',
            **dict.fromkeys(("listed", *VECTORS), '"file"'),
            **dict.fromkeys(PATTERNED, f'a "pattern" of up to {LONGEST} letters'),
            "rare_suffix": "a length from 0 to 100",
            **dict.fromkeys(MATCHED, '"file", or nothing for a dictionary that is learned,'),
        }.get(name, "a length from 1 to 100" if name in SIZED else "no argument")
        raise self.error(f"{name} takes {wants} after its first argument", at)


def parse_template(text: str, *, of_phrases: bool = False) -> Template:
    """One template from its text, for taggers and dependency parsers or ``of_phrases``."""
    plain = [_PLAIN.fullmatch(part) for part in text.split(" & ")]
    if all(plain) and not of_phrases:  # the most frequent form, without the full parser: models load faster
        return Template(tuple(Look(match[1], int(match[2])) for match in plain if match))
    parser = _Parser(text, of_phrases)
    if not parser.n_tokens:
        raise TemplateError("empty template; write one such as word[-1] & word[0]")
    return parser.template()


def beside(template: Template, folder: Path) -> Template:
    """The template of a file in a folder: relative names of other files in it are names in that folder."""

    def placed(call: Call) -> Call:
        if call.name not in (*FILED, *MATCHED, *VECTORS) or not call.arguments:
            return call
        return replace(call, arguments=(str(folder / str(call.arguments[0])), *call.arguments[1:]))

    return replace(template, looks=tuple(replace(k, calls=tuple(map(placed, k.calls))) for k in template.looks))


# ------------------------------------------------------------ dictionaries in templates


@dataclass(frozen=True, slots=True)
class DictionaryView:
    """Input of a dictionary: a column and the calls on it; the last call names the file."""

    column: str
    calls: tuple[Call, ...]

    @property
    def path(self) -> str | None:
        """The file of the entries; None if they are learned from spans."""
        arguments = self.calls[-1].arguments
        return str(arguments[0]) if arguments else None


def is_matched(look: Look) -> bool:
    """Whether a look uses a dictionary."""
    return bool(look.calls) and look.calls[-1].name in MATCHED


def dictionary_view(look: Look) -> DictionaryView:
    """The dictionary of a look, independent of the requested result."""
    return DictionaryView(look.column, (*look.calls[:-1], replace(look.calls[-1], name=next(iter(MATCHED)))))


def dictionary_views(templates: Iterable[Template]) -> list[DictionaryView]:
    """The dictionaries of templates, in order of first use."""
    looks = (look for template in templates for look in template.looks if is_matched(look))
    return list(dict.fromkeys(map(dictionary_view, looks)))


def derived_names(templates: Iterable[Template]) -> dict[str, tuple[DictionaryView, int]]:
    """Derived columns by name, with their dictionary and the number of its result."""
    looks = (look for template in templates for look in template.looks if is_matched(look))
    return {derived_name(look): (dictionary_view(look), MATCHED[look.calls[-1].name]) for look in looks}


def derived_name(look: Look) -> str:
    """The derived column that a look reads: its text at the token itself."""
    return str(replace(look, offset=0))
