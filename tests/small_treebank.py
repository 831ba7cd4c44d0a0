"""A made-up language with a treebank: sentences, clitics, multiword tokens, features, lemmas and trees, in CoNLL-U."""

from __future__ import annotations

import random

import trellis

NOUNS = {"rab": "Masc", "tol": "Masc", "mina": "Fem", "sela": "Fem", "gort": "Masc", "luna": "Fem"}
VERBS = ("kos", "dur", "vel", "hap")
NAMES = ("Ana", "Beno", "Cira")
ARTICLES = {"Masc": "lo", "Fem": "la"}


def treebank(n_sentences: int = 60, seed: int = 1) -> trellis.Document:
    """Random sentences, such as ``Ana kosat dol rab, e la mina velat.``: *dol* is *de lo*, *-at* and *-an* are verb endings."""
    rng = random.Random(seed)
    blocks = list[str]()
    for i in range(n_sentences):
        rows = list[list[str]]()  # form, lemma, upos, feats, head, deprel, misc
        ranges = dict[int, str]()

        def noun_phrase(head: int, deprel: str, *, of: bool) -> None:
            noun = rng.choice(list(NOUNS))
            gender, plural = NOUNS[noun], rng.random() < 0.3
            feats = f"Gender={gender}|Number={'Plur' if plural else 'Sing'}"
            if of:
                if gender == "Masc":
                    ranges[len(rows) + 1] = "dol"
                rows.append(["de", "de", "ADP", "_", str(len(rows) + 3), "case", "_"])
            rows.append([ARTICLES[gender], "lo", "DET", f"Gender={gender}", str(len(rows) + 2), "det", "_"])
            rows.append([noun + "s" * plural, noun, "NOUN", feats, str(head), deprel, "_"])

        def clause(head: int, deprel: str) -> int:
            """A subject, a verb and sometimes an object; the id of the verb."""
            past, verb = rng.random() < 0.5, rng.choice(VERBS)
            named = rng.random() < 0.4
            at = len(rows) + (2 if named else 3)
            if named:
                name = rng.choice(NAMES)
                rows.append([name, name, "PROPN", "_", str(at), "nsubj", "_"])
            else:
                noun_phrase(at, "nsubj", of=False)
            tense = f"Tense={'Past' if past else 'Pres'}|VerbForm=Fin"
            rows.append([verb + ("an" if past else "at"), verb, "VERB", tense, str(head), deprel, "_"])
            if rng.random() < 0.6:
                noun_phrase(at, "obl" if rng.random() < 2 else "obj", of=rng.random() < 0.6)
            return at

        root = clause(0, "root")
        if rng.random() < 0.3:
            rows[-1][6] = "SpaceAfter=No"
            comma = len(rows)
            rows.append([",", ",", "PUNCT", "_", "?", "punct", "_"])
            rows.append(["e", "e", "CCONJ", "_", "?", "cc", "_"])
            second = clause(root, "conj")
            rows[comma][4] = rows[comma + 1][4] = str(second)
        rows[-1][6] = "SpaceAfter=No"
        rows.append([rng.choice(".!?"), "", "PUNCT", "_", str(root), "punct", "_"])
        rows[-1][1] = rows[-1][0]
        rows[0][0] = rows[0][0][0].upper() + rows[0][0][1:]
        lines = ["# newpar"] if i % 7 == 0 else []
        for number, (form, lemma, upos, feats, head, deprel, misc) in enumerate(rows, 1):
            if number in ranges:
                lines.append("\t".join([f"{number}-{number + 1}", ranges[number], *"_" * 8]))
            lines.append("\t".join([str(number), form, lemma, upos, "_", feats, head, deprel, "_", misc]))
        blocks.append("\n".join(lines) + "\n\n")
    return trellis.Document.from_conllu("".join(blocks))
