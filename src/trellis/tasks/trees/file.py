"""Parsers on disk: one safetensors file, as taggers are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis._support.arguments import real_number
from trellis._support.arrays import Arrays, starts_of
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Strings
from trellis.engine.weights import Rows
from trellis.features.phrases import PhraseVocabulary
from trellis.features.templates import parse_template
from trellis.features.vocabulary import Tables
from trellis.features.vocabulary_tensors import checked_columns, columns_content, strings_of, strings_tensors
from trellis.tasks.model import notes_and_record
from trellis.tasks.tagging.chain_model import FAMILIES
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.trees.grammar import Grammar, Markov
from trellis.tasks.trees.lexicon import Lexicon
from trellis.tasks.trees.weights import PhraseModel

if TYPE_CHECKING:
    from trellis.tasks.trees.model import TreeParser

FORMAT = "trellis-tree-parser-1"
GREATEST = 1e30  # of a weight, so that the score of a tree is finite
TABLES = ("tables", "folds", "outlines")


def content_of(parser: TreeParser) -> tuple[Tensors, dict[str, Any]]:
    """The arrays of a parser's file, and everything else for its header."""
    model, vocabulary = parser.model, parser.model.vocabulary
    known, columns = columns_content(vocabulary.columns, vocabulary.lookups)
    header = {
        "grammar": _grammar_header(model.grammar),
        "coarse": _grammar_header(model.coarse),
        "templates": [str(template) for template in vocabulary.templates],
        **columns,
        "prune": model.prune,
        "family": model.family,
        "info": parser.info,
        "training": parser.training,
    }
    grammars = {"grammar": model.grammar, "coarse": model.coarse}
    tensors: Arrays = {
        **{f"{name}.{part}": getattr(own, part) for name, own in grammars.items() for part in ("binary", "counts")},
        **_lexicon_tensors(model.lexicon, model.grammar.tags),
        **known,
        **model.rows.tensors("rows"),
        **{f"{name}.{part}": a for name in TABLES for part, a in getattr(model, name)._asdict().items()},
        "base": model.base,
    }
    if parser.tagger is not None:
        tensors["tagger"] = np.frombuffer(parser.tagger.to_bytes(), np.uint8)
    return tensors, header


def parts_of(tensors: Tensors, header: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of ``TreeParser`` in a file; ValueError or LookupError if it is damaged."""
    grammar, coarse = (_grammar(name, header[name], tensors) for name in ("grammar", "coarse"))
    columns, lookups = checked_columns(header, tensors)
    if not {column.name for column in columns} <= {"word", "pos"}:
        raise ValueError("columns that trees do not have")
    templates = tuple(parse_template(text, of_phrases=True) for text in header["templates"])
    if header["family"] not in FAMILIES:
        raise ValueError(f"no family {header['family']!r} of models")
    base, rows = tensors["base"], Rows.of_tensors("rows", tensors)
    if not all(np.abs(weights).max(initial=0.0) < GREATEST for weights in (base, rows.weights)):
        raise ValueError("weights that are too great, or no numbers")
    tables: Any = {name: Tables(*(tensors[f"{name}.{part}"] for part in Tables._fields)) for name in TABLES}
    model = PhraseModel(
        grammar,
        coarse,
        _lexicon(tensors, grammar.tags),
        PhraseVocabulary(templates, columns, lookups),
        base,
        rows,
        **tables,
        prune=real_number("prune", header["prune"], 0.0, 1.0),
        family=header["family"],
    )
    model.native()  # checks all that native code follows
    tagger = Tagger.from_bytes(tensors["tagger"].tobytes()) if "tagger" in tensors else None
    return model, tagger, *notes_and_record(header)


def _grammar_header(grammar: Grammar) -> dict[str, Any]:
    return {
        "markov": [grammar.markov.vertical, grammar.markov.horizontal],
        "phrases": list(grammar.phrases),
        "tags": list(grammar.tags),
        "chains": [list(chain) for chain in grammar.chains],
    }


def _grammar(name: str, header: Mapping[str, Any], tensors: Tensors) -> Grammar:
    phrases, tags = (tuple(map(str, header[part])) for part in ("phrases", "tags"))
    chains = tuple(tuple(map(str, chain)) for chain in header["chains"])
    counts = tensors[f"{name}.counts"]
    grammar = Grammar.of(Markov(*map(int, header["markov"])), phrases, tags, tensors[f"{name}.binary"], chains, counts)
    if counts.dtype != np.int64 or counts.shape != (grammar.n_rules,) or (counts < 1).any():
        raise ValueError("counts of other rules")
    return grammar


def _lexicon_tensors(lexicon: Lexicon, tags: tuple[str, ...]) -> Arrays:
    out: Arrays = {"lexicon.tags": np.array([lexicon.tags[tag] for tag in tags], np.int64)}
    number = {tag: i for i, tag in enumerate(tags)}
    for name, counts in (("lexicon.words", lexicon.words), ("lexicon.spelt", lexicon.spelt)):
        out |= strings_tensors(name, Strings.of(counts), slots=False)
        out[f"{name}.places"] = starts_of([len(own) for own in counts.values()])
        out[f"{name}.which"] = np.array([number[tag] for own in counts.values() for tag in own], np.int32)
        out[f"{name}.often"] = np.array([n for own in counts.values() for n in own.values()], np.int64)
    return out


def _lexicon(tensors: Tensors, tags: tuple[str, ...]) -> Lexicon:
    found = list[dict[str, dict[str, int]]]()
    for name in ("words", "spelt"):
        keys = strings_of(f"lexicon.{name}", tensors)
        places, which, often = (tensors[f"lexicon.{name}.{part}"].tolist() for part in ("places", "which", "often"))
        if (
            len(places) != len(keys) + 1
            or len(which) != len(often)
            or min(often, default=1) < 1
            or min(which, default=0) < 0
        ):
            raise ValueError("counts of other words")
        found.append(
            {
                key: {tags[t]: n for t, n in zip(which[a:b], often[a:b], strict=True)}
                for key, a, b in zip(keys, places, places[1:], strict=False)
            }
        )
    totals = tensors["lexicon.tags"].tolist()
    if len(totals) != len(tags) or min(totals, default=1) < 1:
        raise ValueError("counts of other tags")
    return Lexicon(found[0], found[1], dict(zip(tags, totals, strict=True)))
