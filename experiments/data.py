"""The corpora of the experiments: the folder, the source and the reader of each."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import trellis
from experiments.steps import Setting
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Column, Strings

# Folder to its files and their source.
SOURCES = {
    "conll2000": "train.txt and test.txt of the CoNLL-2000 shared task (NLTK's corpus conll2000 has them)",
    "wsj-sample": "train, dev and test as .tsv (word, tag, head) and .trees (bracketed, one a line), made from NLTK's "
    "corpus treebank: files 0001-0149, 0150-0169, 0170-0199",
    "ud-english-ewt": "the .conllu files of UD_English-EWT, universaldependencies.org",
    "ud-french-sequoia": "the .conllu files of UD_French-Sequoia, universaldependencies.org",
    "brown-pos": "train.tsv.gz and test.tsv.gz (word, tag), from NLTK's corpus brown: every tenth sentence is test",
    "typos": "train10.tsv, test10.tsv, train20.tsv and test20.tsv: typed word, tab, word meant",
    "ocr-letters": "letter.data.gz, Taskar's data of handwritten letters (ai.stanford.edu/~btaskar/ocr)",
    "pku": "train.utf8.gz and test.utf8.gz: space-separated words; the test file is PKU's of SIGHAN 2005",
    "brown-clusters": "bllip-clusters.gz: bits, tab, word, tab, count",
}


class MissingCorpusError(CorpusError):
    """A corpus that an experiment needs is absent."""


def find(setting: Setting, folder: str, name: str) -> Path:
    """A file of a corpus, compressed or not; MissingCorpusError with its source."""
    path = setting.data / folder / name
    for there in (path, path.with_name(f"{name}.gz")):
        if there.exists():
            return there
    why = f"absent: {SOURCES[folder]}; name the folder above {folder} by --data or TRELLIS_DATA"
    raise MissingCorpusError(str(path), None, why)


def check_there(setting: Setting, folders: Sequence[str]) -> None:
    """MissingCorpusError for the first folder that is absent."""
    for folder in folders:
        if not (setting.data / folder).is_dir():
            why = f"absent: {SOURCES[folder]}; name the folder above it by --data or TRELLIS_DATA"
            raise MissingCorpusError(str(setting.data / folder), None, why)


def noun_phrases(corpus: trellis.Corpus) -> trellis.Corpus:
    """The corpus with all other phrases outside."""
    labels = corpus.column("label")
    mapped = [value if value.endswith("-NP") else "O" for value in labels.values]
    names, codes = np.unique(mapped, return_inverse=True)
    mapped_codes = codes.astype(np.int32)[labels.codes]
    return corpus.with_column("label", Column(mapped_codes, Strings.of(names.tolist())))


class Parts(NamedTuple):
    """The parts of a corpus."""

    train: trellis.Corpus
    dev: trellis.Corpus
    test: trellis.Corpus


def chunks(setting: Setting) -> Parts:
    """CoNLL-2000's noun phrases; the last tenth of its training file is dev."""
    whole, test = (noun_phrases(trellis.read(find(setting, "conll2000", f"{part}.txt"))) for part in ("train", "test"))
    if setting.quick:
        whole, test = whole[:1500], test[:500]
    return Parts(*held_out(whole), test)


def held_out(whole: trellis.Corpus) -> tuple[trellis.Corpus, trellis.Corpus]:
    """Nine tenths, and the last tenth."""
    cut = len(whole) - max(1, len(whole) // 10)
    return whole[:cut], whole[cut:]


def wsj(setting: Setting) -> Parts:
    """The sample of the Penn Treebank: word, pos, head."""
    names = ("train", "dev", "test")
    parts = [trellis.read(find(setting, "wsj-sample", f"{name}.tsv"), columns="word,pos,head") for name in names]
    return Parts(parts[0][:600], parts[1][:150], parts[2][:150]) if setting.quick else Parts(*parts)


def ud(setting: Setting, folder: str, stem: str) -> Parts:
    """A treebank of Universal Dependencies."""
    parts = [trellis.read(find(setting, folder, f"{stem}-ud-{name}.conllu")) for name in ("train", "dev", "test")]
    return Parts(parts[0][:600], parts[1][:150], parts[2][:150]) if setting.quick else Parts(*parts)


def brown(setting: Setting) -> Parts:
    """The Brown corpus: word, pos; the last tenth of its training file is dev."""
    whole, test = (
        trellis.read(find(setting, "brown-pos", f"{part}.tsv"), columns="word,pos") for part in ("train", "test")
    )
    if setting.quick:
        whole, test = whole[:600], test[:150]
    return Parts(*held_out(whole), test)


# The sections of the Wall Street Journal, as Collins 2002 split them.
SECTIONS = (range(19), range(19, 22), range(22, 25))


def ptb(folder: Path) -> Parts:
    """A Penn Treebank's own files, FOLDER/NN/*.mrg, without traces: word, pos."""
    parts = list[trellis.Corpus]()
    for sections in SECTIONS:
        words, tags = list[list[str]](), list[list[str]]()
        for section in sections:
            files = sorted((folder / f"{section:02}").glob("*.mrg"))
            if not files:
                why = f"no .mrg files of section {section:02}; name the folder that has 00 to 24 by --ptb"
                raise CorpusError(str(folder / f"{section:02}"), None, why)
            for file in files:
                _add_leaves(file.read_text(encoding="latin-1"), words, tags)
        parts.append(trellis.read({"word": words, "pos": tags}))
    return Parts(*parts)


_LEAF_OR_BRACKET = re.compile(r"\(([^\s()]+) ([^\s()]+)\)|[()]")


def _add_leaves(text: str, words: list[list[str]], tags: list[list[str]]) -> None:
    """The words and tags of each tree: a sentence ends where its outermost bracket is closed."""
    depth, sentence = 0, list[tuple[str, str]]()
    for match in _LEAF_OR_BRACKET.finditer(text):
        if match[1] is not None:
            if match[1] != "-NONE-":
                sentence.append((match[2], match[1]))
            continue
        depth += 1 if match[0] == "(" else -1
        if depth == 0 and sentence:
            words.append([word for word, _ in sentence])
            tags.append([tag for _, tag in sentence])
            sentence = []


def typos(setting: Setting, name: str) -> trellis.Corpus:
    """Each word a sequence of letters: as typed, and as meant."""
    lines = find(setting, "typos", f"{name}.tsv").read_text(encoding="utf-8").split("\n")
    pairs = [line.split("\t") for line in lines if line]
    if setting.quick:
        pairs = pairs[:3000]
    return trellis.read({"letter": [list(typed) for typed, _ in pairs], "label": [list(true) for _, true in pairs]})


class Letter(NamedTuple):
    """A handwritten letter: which it is, and its pixels as attributes."""

    label: str
    pixels: list[str]


N_FOLDS = 10
_HEIGHT, _WIDTH = 16, 8


def letters(setting: Setting) -> list[list[list[Letter]]]:
    """Taskar's words of handwritten letters, by fold."""
    folds: list[list[list[Letter]]] = [[] for _ in range(N_FOLDS)]
    word = list[Letter]()
    with gzip.open(find(setting, "ocr-letters", "letter.data.gz"), "rt", encoding="ascii") as lines:
        for line in lines:
            _, label, after, _, _, fold, *pixels = line.rstrip("\n").split("\t")
            seen = pixels[: _HEIGHT * _WIDTH]
            word.append(Letter(label, [f"{i}={pixel}" for i, pixel in enumerate(seen)]))
            if after == "-1":  # the last letter of a word
                folds[int(fold)].append(word)
                word = []
    return [fold[:120] for fold in folds] if setting.quick else folds


def corpus_of_letters(words: Sequence[Sequence[Letter]]) -> trellis.Corpus:
    """Words as sentences of letters."""
    attributes = [[letter.pixels for letter in word] for word in words]
    return trellis.read({"attributes": attributes, "label": [[letter.label for letter in word] for word in words]})
