"""What a user may give as features (a preset's name, a file, a list of templates), made definite for a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trellis.errors import TemplateError
from trellis.features.crfpp import looks_like_crfpp, parse_crfpp
from trellis.features.presets import ALIASES, PRESETS
from trellis.features.templates import Look, Template, parse_template, parse_templates

Features = str | Path | Iterable[str | Template]


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """Templates whose columns are all columns of the corpus, and the label n-grams they ask for."""

    templates: tuple[Template, ...]
    bigrams: bool = True  # a CRF++ file without a B line asks for none

    @property
    def on_edges(self) -> bool:
        """Whether some template speaks of label pairs."""
        return any(template.on_edge for template in self.templates)

    @property
    def columns(self) -> list[str]:
        """The input columns, in the order templates first name them."""
        return list(dict.fromkeys(look.column for template in self.templates for look in template.looks))


def feature_set(features: Features, columns: Sequence[str]) -> FeatureSet:
    """Resolve features against the input columns of a corpus (the target is not among them)."""
    templates, bigrams = _templates(features, columns)
    if not templates:
        raise TemplateError("no templates given: name a preset, a file or a list of templates")
    named = next((_bind(look, t, columns) for t in templates for look in t.looks if look.column), None)
    first = named.column if named else columns[0] if columns else ""
    bound = [replace(t, looks=tuple(_bind(look, t, columns, first) for look in t.looks)) for t in templates]
    _check_shared(bound)
    return FeatureSet(tuple(bound), bigrams)


def _templates(features: Features, columns: Sequence[str]) -> tuple[list[Template], bool]:
    if isinstance(features, str) and features in PRESETS:
        return parse_templates(PRESETS[features]), True
    if isinstance(features, str | Path):
        path = Path(features)
        if not path.is_file():
            raise TemplateError(
                f"no preset and no file {str(features)!r}; the presets are {', '.join(PRESETS)}, "
                "templates themselves go in a list"
            )
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise TemplateError(f"{path}: not UTF-8 text: {error.reason}") from error
        if looks_like_crfpp(lines):
            return parse_crfpp(lines, columns, str(path))
        templates = list[Template]()
        for number, line in enumerate(lines, 1):
            try:
                templates += parse_templates([line])
            except TemplateError as error:
                raise TemplateError(f"{path}:{number}: {error}") from error
        return templates, True
    return [_template(t) for t in features], True


def _template(given: str | Template) -> Template:
    if isinstance(given, str):
        return parse_template(given)
    if not isinstance(given, Template):
        raise TemplateError(f"a template is a string such as word[0], not {given!r}")
    # A model keeps templates as text: one that cannot be written could not be read back.
    template = parse_template(str(given))
    if template != given:
        raise TemplateError(f"template {str(given)!r} means something else when it is written out")
    return given


def _bind(look: Look, template: Template, columns: Sequence[str], first: str = "") -> Look:
    if look.column == "" and first:  # is_first and is_last read whatever the other templates read first
        return replace(look, column=first)
    if look.column in columns:
        return look
    for alias in ALIASES.get(look.column, ()):
        if alias in columns:
            return replace(look, column=alias)
    raise TemplateError(
        f"template {str(template)!r} reads column {look.column!r}; the corpus has {', '.join(columns) or 'none'}"
    )


def _check_shared(templates: Sequence[Template]) -> None:
    first = dict[str, Template]()
    for template in templates:
        other = first.setdefault(template.name, template) if template.name else template
        what = [[(look.column, look.calls) for look in t.looks] for t in (template, other)]
        if what[0] != what[1] or template.on_edge != other.on_edge:
            raise TemplateError(
                f"templates {str(other)!r} and {str(template)!r} have one name, so they may differ in offsets only"
            )
