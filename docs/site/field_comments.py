"""In the API pages the comment behind a field of a dataclass is its description."""

from typing import Any

import griffe


class FieldComments(griffe.Extension):
    """`epochs: int = 5  # passes over the corpus` is described as "passes over the corpus"."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Called for every attribute that is found."""
        if attr.docstring is None and attr.endlineno:
            line = attr.filepath.read_text(encoding="utf-8").splitlines()[attr.endlineno - 1]  # type: ignore[union-attr]
            _, mark, comment = line.partition("  # ")
            if mark:
                attr.docstring = griffe.Docstring(comment, parent=attr, lineno=attr.lineno)
