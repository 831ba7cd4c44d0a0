"""A made-up language with a treebank in CoNLL-U: multiword tokens, features, lemmas and trees.

``Ana kosat dol rab, e la mina velan.``: *dol* is *de lo*, *-at* and *-an* are endings of verbs, *-s* of plurals.
"""

from __future__ import annotations

import random

import trellis

NOUNS = {"rab": "Masc", "tol": "Masc", "mina": "Fem", "sela": "Fem", "gort": "Masc", "luna": "Fem"}
VERBS = ("kos", "dur", "vel", "hap")
NAMES = ("Ana", "Beno", "Cira")
ARTICLES = {"Masc": "lo", "Fem": "la"}


class RandomSentence:
    """A sentence as it is made: rows of form, lemma, UPOS, features, head, relation, MISC."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.rows, self.contracted = rng, list[list[str]](), set[int]()
        root = self._clause(0, "root")
        if rng.random() < 0.3:
            comma = self._end_with(",", "?")
            self.rows.append(["e", "e", "CCONJ", "_", "?", "cc", "_"])
            second = self._clause(root, "conj")
            self.rows[comma][4] = self.rows[comma + 1][4] = str(second)
        self._end_with(rng.choice(".!?"), str(root))
        self.rows[0][0] = self.rows[0][0][0].upper() + self.rows[0][0][1:]

    def _end_with(self, mark: str, head: str) -> int:
        self.rows[-1][6] = "SpaceAfter=No"
        self.rows.append([mark, mark, "PUNCT", "_", head, "punct", "_"])
        return len(self.rows) - 1

    def _noun_phrase(self, head: int, relation: str, *, of: bool) -> None:
        noun, plural = self.rng.choice(list(NOUNS)), self.rng.random() < 0.3
        gender, n = NOUNS[noun], len(self.rows)
        if of:
            self.rows.append(["de", "de", "ADP", "_", str(n + 3), "case", "_"])
            self.contracted |= {n + 1} if gender == "Masc" else set()
        self.rows.append([ARTICLES[gender], "lo", "DET", f"Gender={gender}", str(n + of + 2), "det", "_"])
        feats = f"Gender={gender}|Number={'Plur' if plural else 'Sing'}"
        self.rows.append([noun + "s" * plural, noun, "NOUN", feats, str(head), relation, "_"])

    def _clause(self, head: int, relation: str) -> int:
        """A subject, a verb and sometimes an object; the id of the verb."""
        rng, named = self.rng, self.rng.random() < 0.4
        at = len(self.rows) + (2 if named else 3)
        if named:
            name = rng.choice(NAMES)
            self.rows.append([name, name, "PROPN", "_", str(at), "nsubj", "_"])
        else:
            self._noun_phrase(at, "nsubj", of=False)
        verb, past = rng.choice(VERBS), rng.random() < 0.5
        ending, tense = ("an", "Past") if past else ("at", "Pres")
        self.rows.append([verb + ending, verb, "VERB", f"Tense={tense}|VerbForm=Fin", str(head), relation, "_"])
        if rng.random() < 0.6:
            of = rng.random() < 0.6
            self._noun_phrase(at, "obl" if of else "obj", of=of)
        return at

    def lines(self) -> list[str]:
        """Its lines in CoNLL-U."""
        lines = list[str]()
        for number, (form, lemma, upos, feats, head, relation, misc) in enumerate(self.rows, 1):
            if number in self.contracted:
                lines.append("\t".join([f"{number}-{number + 1}", "dol", *"_" * 8]))
            lines.append("\t".join([str(number), form, lemma, upos, "_", feats, head, relation, "_", misc]))
        return lines


def treebank(n_sentences: int = 60, seed: int = 1) -> trellis.Document:
    """Random sentences; a paragraph begins at every seventh."""
    rng, blocks = random.Random(seed), list[str]()
    for i in range(n_sentences):
        lines = ["# newpar"] if i % 7 == 0 else []
        blocks.append("\n".join(lines + RandomSentence(rng).lines()) + "\n\n")
    return trellis.Document.from_conllu("".join(blocks))
