"""What ``trellis`` exports: the same for programs and for type checkers, all that its functions return; docstrings."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import functools
import importlib
import inspect
import pkgutil
import re
import sys
import typing
from pathlib import Path

import pytest

import trellis
from trellis.learners import LEARNERS, learner_named
from trellis.learning.options import options_of
from trellis.tasks.model import TASKS

SOURCE = Path(trellis.__file__)


def checked_names() -> dict[str, str]:
    """The names visible to type checkers: the imports under TYPE_CHECKING."""
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


# ------------------------------------------------------------ docstrings


def train_of(task: str) -> typing.Any:
    """The function that trains models of a task."""
    return importlib.import_module(f"{TASKS[task].module}.train").train


def documented() -> dict[str, typing.Any]:
    """Every public function, class and property by name: exports of ``trellis`` and entries of the API pages."""
    names = {f"trellis.{name}" for name in trellis._MODULES}
    for page in (Path(__file__).parent.parent / "docs").rglob("*.md"):
        for name, options in re.findall(r"^::: (trellis\.\S+)((?:\n    .*)*)", page.read_text(encoding="utf-8"), re.M):
            members = re.search(r"members: \[(.+)\]", options)
            names |= {f"{name}.{member}" for member in members[1].split(", ")} if members else {name}
    # The parameters of ``Parser.train`` and similar methods are described in the function they call.
    objects: dict[str, typing.Any] = {f"{train.__module__}.train": train for train in map(train_of, sorted(TASKS))}
    for name in names:
        try:
            thing = pkgutil.resolve_name(name)
        except ImportError:
            assert name.startswith("trellis.interfaces.")  # an optional package is not installed
            continue
        if not inspect.ismodule(thing):
            objects[f"{thing.__module__}.{thing.__qualname__}"] = thing
            continue
        for part in vars(thing).values():
            if getattr(part, "__module__", None) == thing.__name__ and not part.__name__.startswith("_"):
                objects[f"{thing.__name__}.{part.__qualname__}"] = part
    for kind in [thing for thing in objects.values() if inspect.isclass(thing)]:
        for base in kind.__mro__:
            for name, member in vars(base).items() if base.__module__.startswith("trellis") else ():
                function = getattr(member, "__func__", member)
                if name == "begin" and base is not trellis.Learner:  # the API pages omit them too
                    continue
                if not name.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)):
                    objects[f"{base.__module__}.{base.__qualname__}.{name}"] = function
    return objects


DOCUMENTED = documented()
CALLABLE = {name: thing for name, thing in DOCUMENTED.items() if not isinstance(thing, property)}


def sections(text: str) -> dict[str, str]:
    """The sections of a numpydoc docstring."""
    parts = re.split(r"^([A-Z]\w+)\n-{3,}\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def wanted_parameters(thing: typing.Any) -> tuple[set[str], set[str]]:
    """Names of parameters that must be described, and of those that may be."""
    kinds = [kind for kind in thing.__mro__ if kind.__module__ != "builtins"] if inspect.isclass(thing) else []
    own = [vars(kind) for kind in kinds]
    if own and not any({"__init__", "__new__"} & set(names) for names in own):
        return set(), set()
    made_by = thing.__init__ if any("__init__" in names for names in own) else thing
    must, may = set[str](), set[str]()
    for name, parameter in inspect.signature(made_by).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            may |= {"*" * (1 + (parameter.kind == parameter.VAR_KEYWORD)) + name}
            options = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
            if options is not None:
                must |= set(options_of(getattr(sys.modules[thing.__module__], options[1])))
        elif name not in ("self", "cls") and not name.startswith("_"):
            must.add(name)
    return must, may


def names_in(section: str) -> set[str]:
    """The names that a section describes."""
    return {name for line in re.findall(r"^(\S.*?)(?: :.*)?$", section, re.M) for name in line.split(", ")}


def faults(thing: typing.Any) -> list[str]:
    """Missing and superfluous entries of a docstring."""
    found = sections(inspect.getdoc(thing) or "")
    names, fields = (names_in(found.get(title, "")) for title in ("Parameters", "Attributes"))
    must, may = wanted_parameters(thing)
    texts = [f"{name}: not described" for name in sorted(must - names - fields)]
    texts += [f"{name}: no parameter" for name in sorted(names - must - may)]
    answer = "" if inspect.isclass(thing) else str(inspect.signature(thing).return_annotation)
    if answer not in ("", "None", "NoReturn") and not {"Returns", "Yields"} & set(found):
        texts.append("no section Returns")
    return texts


def test_docstrings_describe_every_parameter_and_the_result() -> None:
    assert {name: found for name, thing in CALLABLE.items() if (found := faults(thing))} == {}


def test_entry_points_have_examples() -> None:
    names = "train partial_fit load read stream tokenize evaluate brown_clusters register_function parse_trees"
    kinds = "Tagger Parser TreeParser Segmenter Reranker StructuredModel Hypergraph Corpus"
    methods = "tag tag_batch tag_text kbest marginals explain evaluate"
    things = [getattr(trellis, name) for name in f"{names} {kinds}".split()]
    things += [getattr(trellis.Tagger, name) for name in methods.split()]
    things += [learner_named(name) for name in LEARNERS]
    assert [thing.__qualname__ for thing in things if ">>>" not in (thing.__doc__ or "")] == []


@pytest.mark.parametrize("name", sorted(name for name, thing in DOCUMENTED.items() if ">>>" in (thing.__doc__ or "")))
def test_examples_of_docstrings(name: str) -> None:
    output, runner = list[str](), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(DOCUMENTED[name]) or "", {}, name, None, None)
    assert runner.run(examples, out=output.append).failed == 0, "".join(output)
