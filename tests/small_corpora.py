"""A folder of corpora as the experiments of the papers want it, made in a moment: small, seeded, of every kind."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from pathlib import Path

WORDS = {
    "DT": ["the", "a"],
    "JJ": ["big", "old", "red"],
    "NN": ["dog", "cat", "walk", "tree"],
    "VB": ["sees", "walk", "bites"],
}


def make_corpora(folder: Path) -> Path:
    """All of them."""
    rng = random.Random(7)
    _chunks(folder / "conll2000", rng)
    _wsj(folder / "wsj-sample", rng)
    for name, stem in (("ud-english-ewt", "en_ewt"), ("ud-french-sequoia", "fr_sequoia")):
        for part, n in (("train", 60), ("dev", 12), ("test", 12)):
            blocks = [_conllu(*_sentence(rng)) for _ in range(n)]
            _write(folder / name / f"{stem}-ud-{part}.conllu", "\n".join(blocks) + "\n")
    for part, n in (("train", 60), ("test", 12)):
        sentences = [list(zip(*_sentence(rng)[:2], strict=True)) for _ in range(n)]
        text = "\n".join("".join(f"{word}\t{tag}\n" for word, tag in one) for one in sentences)
        _pack(folder / "brown-pos" / f"{part}.tsv.gz", text)
    for share in ("10", "20"):
        for part, n in (("train", 300), ("test", 40)):
            _write(folder / "typos" / f"{part}{share}.tsv", _typos(rng, n, int(share) / 100))
    _pack(folder / "ocr-letters" / "letter.data.gz", _letters(rng))
    for part, n in (("train", 120), ("test", 20)):
        lines = [
            " ".join(rng.choice(["我们", "在", "北京", "学习", "中文", "。", "１９９８"]) for _ in range(8))
            for _ in range(n)
        ]
        _pack(folder / "pku" / f"{part}.utf8.gz", "\n".join(lines) + "\n")
    return folder


def make_treebank(folder: Path) -> Path:
    """Sections 00 to 24 of a Penn Treebank, two sentences each."""
    rng = random.Random(3)
    for section in range(25):
        trees = [_tree(*_sentence(rng)[:2]).replace("(VP", "\n  (VP") for _ in range(2)]
        _write(folder / f"{section:02}" / f"wsj_{section:02}01.mrg", "\n\n".join(f"( {tree})" for tree in trees) + "\n")
    return folder


def _sentence(rng: random.Random) -> tuple[list[str], list[str], list[int]]:
    """Words, tags and heads of a noun phrase, a verb and a noun phrase."""
    tags, heads = list[str](), list[int]()
    first = ["DT", *["JJ"] * rng.randrange(2), "NN"]
    second = ["DT", *["JJ"] * rng.randrange(2), "NN"]
    verb = len(first) + 1
    for phrase, begin in ((first, 0), (second, verb)):
        noun = begin + len(phrase)
        heads += [noun] * (len(phrase) - 1) + [verb]
        if begin == 0:
            heads.append(0)
    tags = [*first, "VB", *second]
    return [rng.choice(WORDS[tag]) for tag in tags], tags, heads


def _chunks(folder: Path, rng: random.Random) -> None:
    for part, n in (("train", 80), ("test", 15)):
        blocks = list[str]()
        for _ in range(n):
            words, tags, _ = _sentence(rng)
            labels = ["B-VP" if tag == "VB" else "B-NP" if tag == "DT" else "I-NP" for tag in tags]
            blocks.append("".join(f"{w} {t} {y}\n" for w, t, y in zip(words, tags, labels, strict=True)))
        _write(folder / f"{part}.txt", "\n".join(blocks))


def _wsj(folder: Path, rng: random.Random) -> None:
    for part, n in (("train", 80), ("dev", 15), ("test", 15)):
        sentences = [_sentence(rng) for _ in range(n)]
        table = "\n".join("".join(f"{w}\t{t}\t{h}\n" for w, t, h in zip(*one, strict=True)) for one in sentences)
        _write(folder / f"{part}.tsv", table)
        _write(folder / f"{part}.trees", "".join(f"( {_tree(words, tags)} )\n" for words, tags, _ in sentences))


def _tree(words: Sequence[str], tags: Sequence[str]) -> str:
    leaves = [f"({tag} {word})" for word, tag in zip(words, tags, strict=True)]
    verb = tags.index("VB")
    subject, found = " ".join(leaves[:verb]), " ".join(leaves[verb + 1 :])
    return f"(S (NP-SBJ {subject}) (VP {leaves[verb]} (NP {found}) (NP (-NONE- *))))"


def _conllu(words: Sequence[str], tags: Sequence[str], heads: Sequence[int]) -> str:
    upos = {"DT": "DET", "JJ": "ADJ", "NN": "NOUN", "VB": "VERB"}
    relation = {"DT": "det", "JJ": "amod", "NN": "obj", "VB": "root"}
    rows = zip(words, tags, heads, strict=True)
    return "".join(
        f"{i}\t{word}\t{word}\t{upos[tag]}\t{tag}\t_\t{head}\t{relation[tag]}\t_\t_\n"
        for i, (word, tag, head) in enumerate(rows, 1)
    )


def _typos(rng: random.Random, n: int, share: float) -> str:
    lines = list[str]()
    for _ in range(n):
        word = rng.choice(["the", "then", "hat", "heat", "tea", "neat", "ant"])
        typed = "".join(rng.choice("ahent") if rng.random() < share else letter for letter in word)
        lines.append(f"{typed}\t{word}\n")
    return "".join(lines)


def _letters(rng: random.Random) -> str:
    """Words in ten folds; a letter's pixels are its number in binary, with noise."""
    lines, number = list[str](), 0
    for i in range(80):
        word = rng.choice(["ab", "abc", "bca", "cab", "ca", "bb", "ac", "cba"])
        for at, letter in enumerate(word):
            number += 1
            clean = [ord(letter) >> (bit % 7) & 1 for bit in range(128)]
            pixels = [bit ^ (rng.random() < 0.05) for bit in clean]
            after = number + 1 if at + 1 < len(word) else -1
            fields = [number, letter, after, i, at, i % 10, *map(int, pixels)]
            lines.append("\t".join(map(str, fields)) + "\t\n")
    return "".join(lines)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _pack(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(text)
