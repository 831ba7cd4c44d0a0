"""What ``trellis`` exports: the same for programs and for type checkers, and all that its functions return."""

from __future__ import annotations

import ast
import dataclasses
import functools
import typing
from pathlib import Path

import pytest

import trellis

SOURCE = Path(trellis.__file__)


def checked_names() -> dict[str, str]:
    """What a type checker sees: the imports under TYPE_CHECKING."""
    found: dict[str, str] = {}
    [block] = [node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If)]
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            for name in node.names:
                assert name.asname == name.name  # else strict checkers take it for private
                found[name.name] = node.module
    return found


def test_programs_and_type_checkers_see_the_same() -> None:
    assert checked_names() == trellis._MODULES
    assert set(trellis.__all__) == {"__version__", *trellis._MODULES}
    for name in trellis.__all__:
        assert getattr(trellis, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Perceptrom'"):
        _ = trellis.Perceptrom  # type: ignore[attr-defined]


def test_what_functions_return_can_be_named() -> None:
    """Every class of trellis in the annotation of a public function, of a public method or field."""
    unnamed = set[str]()
    for name in trellis._MODULES:
        thing = getattr(trellis, name)
        functions = [thing] if not isinstance(thing, type) else []
        if isinstance(thing, type):
            functions = [m for n, m in vars(thing).items() if callable(m) and not n.startswith("_") and n != "begin"]
        for function in functions:
            text = str(typing.cast(typing.Any, function).__annotations__.get("return", ""))
            unnamed |= {word for word in classes_in(text) if not hasattr(trellis, word)}
        if dataclasses.is_dataclass(thing):
            for field in dataclasses.fields(thing):
                kind = typing.get_args(field.type)[0] if hasattr(field.type, "__metadata__") else field.type
                text = kind.__name__ if isinstance(kind, type) else str(kind)
                unnamed |= {word for word in classes_in(text) if not hasattr(trellis, word)}
    private = {
        "Figure",  # of a report: a value and its support
        "Html",  # a string
        "Strings",
        "Extras",
        "Ragged",
        "ChainModel",
        "PhraseModel",
        "ChainWeights",
        "FeatureWeights",
        "Problem",
        "ArcVocabulary",
        "KeyTables",
    }
    assert unnamed <= private


@functools.cache
def our_classes() -> set[str]:
    trees = [ast.parse(path.read_text()) for path in SOURCE.parent.rglob("*.py")]
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def classes_in(annotation: str) -> set[str]:
    """Names in an annotation that are classes of trellis."""
    names = {node.id for node in ast.walk(ast.parse(annotation)) if isinstance(node, ast.Name)}
    return names & our_classes()
