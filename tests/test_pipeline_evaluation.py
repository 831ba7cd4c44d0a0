"""Measures from raw text. Expected figures are those of conll18_ud_eval.py 1.2 for the same two files."""

from __future__ import annotations

import random
import re

import pytest

import trellis
from trellis import Document, DocumentSentence, MultiwordToken, Word, compare_documents

MEASURES = ["Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"]
MEASURES += ["UAS", "LAS", "CLAS", "MLAS", "BLEX"]


def conllu(*sentences: str) -> Document:
    """Sentences with one line per word or range: id, form, lemma, upos, xpos, feats, head, deprel, by spaces."""
    blocks = list[str]()
    for sentence in sentences:
        rows = [re.split(" +", line.strip(" ")) for line in sentence.strip().splitlines()]
        blocks.append("".join("\t".join([*row, *["_"] * (10 - len(row))]) + "\n" for row in rows))
    return Document.from_conllu("\n".join(blocks) + "\n")


GOLD = conllu(
    """
    1 Il il PRON _ Gender=Masc|Lang=x 2 nsubj
    2 va aller VERB _ Mood=Ind 0 root
    3-4 du _ _ _ _ _ _
    3 de de ADP _ _ 5 case
    4 le le DET _ Definite=Def 5 det
    5 parc parc NOUN N _ 2 obl:mod
    6 . . PUNCT _ _ 2 punct
    """,
    """
    1 Aujourd'hui aujourd'hui ADV _ _ 2 advmod
    2 aussi _ ADV _ _ 0 root
    """,
)
# Another split of du, a merged and a cut token, one sentence less, another head, subtype, lemma and tag.
PREDICTED = conllu(
    """
    1 Il il PRON _ Lang=y|Gender=Masc 2 nsubj:pass
    2 va va VERB _ Mood=Ind 0 root
    3-5 du _ _ _ _ _ _
    3 De de ADP _ _ 6 case
    4 la la DET _ Definite=Def 6 det
    5 le le DET _ Definite=Ind 6 det
    6 parc parc NOUN M _ 2 obl
    7 .Aujourd' . PUNCT _ _ 2 punct
    8 hui hui ADV _ _ 9 advmod
    9 aussi aussi ADV _ _ 2 conj
    """
)
EXPECTED = {  # gold, predicted, correct, aligned
    "Tokens": (7, 7, 5, None),
    "Sentences": (2, 1, 0, None),
    "Words": (8, 9, 6, None),
    "UPOS": (8, 9, 6, 6),
    "XPOS": (8, 9, 5, 6),
    "UFeats": (8, 9, 5, 6),
    "AllTags": (8, 9, 4, 6),
    "Lemmas": (8, 9, 5, 6),
    "UAS": (8, 9, 5, 6),
    "LAS": (8, 9, 5, 6),
    "CLAS": (5, 5, 3, 4),
    "MLAS": (5, 5, 2, 4),
    "BLEX": (5, 5, 2, 4),
}

# Tokens between |; after the first space the words of a multiword token. Number of aligned words.
WORDS = [
    ("a|b|c", "a|b|c", 3),
    ("ab|c", "a|b|c", 1),
    ("abc a b c", "a|b|c", 3),
    ("a|bc b c|d", "ab|cd", 0),
    ("abcd x y|ef y x", "ab x|cd y|ef y x", 4),
    ("abc|ab b a", "a|b|c|ab", 1),
    ("ab A b|cb a b", "a|bc b|b", 3),
    ("xy a b a|z", "x|y|z a b", 0),
    ("ab|cd c d", "a|bcd b d", 1),
    ("a|bc ab c", "ab|c", 1),
    ("abc|bx b x", "a|b|c|bx", 1),  # the script lets b of abc in, as abc begins before the range
    ("abc|d", "ab abc x|c|d", 2),
    ("aabb x a b y|c", "a|abb a y x|c", 3),
]


def tokens(text: str, lemma: str | None = None) -> Document:
    words, multiwords = list[Word](), list[MultiwordToken]()
    for token in text.split("|"):
        form, *parts = token.split()
        if parts:
            multiwords.append(MultiwordToken(len(words) + 1, len(words) + len(parts), form))
        words += [Word(part, lemma=lemma, upos="X") for part in parts or [form]]
    return Document("", [DocumentSentence(words, multiwords)])


def test_measures() -> None:
    report = compare_documents(GOLD, PREDICTED)
    assert list(report.rows) == MEASURES
    found = {name: (row.gold, row.predicted, row.correct, row.aligned) for name, row in report.rows.items()}
    assert found == EXPECTED
    assert report.rows["UAS"].aligned_accuracy == 5 / 6
    assert report.rows["Tokens"].aligned_accuracy is None
    assert (report.name, report.headline, report.n_sentences, report.n_words) == ("LAS", 10 / 17, 2, 8)
    assert (report.words, report.upos, report.las, report.mlas, report.blex) == (12 / 17, 12 / 17, 10 / 17, 0.4, 0.4)


@pytest.mark.parametrize(("gold", "predicted", "n_aligned"), WORDS)
def test_alignment_of_words(gold: str, predicted: str, n_aligned: int) -> None:
    assert compare_documents(tokens(gold), tokens(predicted)).rows["Words"].correct == n_aligned


def test_function_words_must_be_aligned() -> None:
    gold = conllu("1 a _ ADP _ _ 3 case\n2 b _ PART _ _ 3 discourse\n3 c _ NOUN _ _ 0 root")
    merged = conllu("1 ab _ ADP _ _ 2 case\n2 c _ NOUN _ _ 0 root")
    rows = compare_documents(gold, merged).rows
    assert [rows[name].correct for name in ("Words", "LAS", "CLAS", "MLAS", "BLEX")] == [1, 1, 1, 0, 1]


def test_gold_against_itself() -> None:
    for document in (GOLD, PREDICTED):
        report = compare_documents(document, document)
        assert {row.f1 for row in report.rows.values()} == {1.0}
    assert next(line.split()[1:4] for line in str(report).splitlines()[1:] if line) == ["100.00"] * 3


def test_exchanged_documents_exchange_precision_and_recall() -> None:
    rng = random.Random(5)
    for _ in range(40):
        text = "".join(rng.choice("ab") for _ in range(12))
        gold, predicted = (tokens("".join(c + rng.choice(["|", ""]) for c in text).strip("|")) for _ in range(2))
        there, back = compare_documents(gold, predicted).rows, compare_documents(predicted, gold).rows
        for name in ("Tokens", "Sentences", "Words", "UPOS"):
            assert (there[name].precision, there[name].recall) == (back[name].recall, back[name].precision)
        assert there["Words"].correct == there["Tokens"].correct


def test_whitespace_is_not_compared() -> None:
    spaced = conllu("1 10\u00a0000 _ NUM _ _ 0 root")
    apart = conllu("1 10 _ NUM _ _ 0 root\n2 000 _ NUM _ _ 1 flat")
    assert compare_documents(spaced, apart).rows["Tokens"].correct == 0
    assert compare_documents(spaced, spaced).rows["Tokens"].correct == 1


def test_other_texts() -> None:
    gold, other = tokens("one|two|three"), tokens("one|tow|three")
    other.source = "other.conllu"
    with pytest.raises(
        trellis.CorpusError, match=r"^other.conllu: .* after 4 characters .* 'owthree' instead of 'wothree'"
    ):
        compare_documents(gold, other)
    with pytest.raises(trellis.CorpusError, match=r"after 6 characters .* '' instead of 'three'"):
        compare_documents(gold, tokens("one|two"))
    with pytest.raises(trellis.CorpusError, match=r"sentence 0 .* has an empty token"):
        compare_documents(gold, Document("", [DocumentSentence([Word(" ")])]))
    with pytest.raises(trellis.ArgumentError, match="predicted must be a Document, not 'text'"):
        compare_documents(gold, "text")  # type: ignore[arg-type]


def test_documents_without_trees() -> None:
    report = compare_documents(tokens("a|b"), tokens("a|b"))
    assert list(report.rows) == MEASURES[:8]
    assert (report.name, report.headline, report.figure("upos")) == ("UPOS", 1.0, 1.0)
    with pytest.raises(trellis.LearnerError, match="metric 'mlas' needs trees"):
        report.figure("mlas")


def test_a_missing_head_is_wrong() -> None:
    partly = conllu("1 a _ X _ _ 0 root\n2 b _ X _ _ _ _")
    assert compare_documents(partly, partly).rows["UAS"].correct == 1


def test_gold_without_lemma_accepts_any() -> None:
    assert compare_documents(tokens("a|b"), tokens("a|b", lemma="x")).rows["Lemmas"].correct == 2
    assert compare_documents(tokens("a|b", lemma="x"), tokens("a|b")).rows["Lemmas"].correct == 0


def test_nothing_to_evaluate() -> None:
    report = compare_documents(Document(""), Document(""))
    assert str(report) == "no words to evaluate"
    assert report.headline == 0
