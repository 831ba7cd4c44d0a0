"""Alignment of the words of two documents with the same text, by characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from trellis._support.errors import CorpusError
from trellis.corpus.document import Document
from trellis.corpus.document_sentence import MultiwordToken

# Relations and features as Universal Dependencies group them. Function words and punctuation are no content words.
FUNCTION = frozenset({"aux", "case", "cc", "clf", "cop", "det", "mark"})
CONTENT = frozenset(
    {"nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp"}  # core arguments
    | {"obl", "vocative", "expl", "dislocated", "advcl", "advmod", "discourse"}  # other dependents of predicates
    | {"nmod", "appos", "nummod", "acl", "amod"}  # dependents of nouns
    | {"conj", "fixed", "flat", "compound", "list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep"}
)
UNIVERSAL = frozenset(  # features that UFeats counts
    {"PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr"}  # lexical
    | {"Gender", "Animacy", "Number", "Case", "Definite", "Degree"}  # of nouns
    | {"VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person", "Polite"}  # of verbs
)
SPACES = dict.fromkeys([*map(ord, " \u00a0\u1680\u202f\u205f\u3000"), *range(0x2000, 0x200B)])  # category Zs
ROOT, UNALIGNED, UNKNOWN = -1, -2, -3  # in place of the number of a word


@dataclass(slots=True)
class DocumentWords:
    """The words of a document; begins and ends count characters without whitespace, heads count all words from 0."""

    text: str = ""
    tokens: list[tuple[int, int]] = field(default_factory=list)
    sentences: list[tuple[int, int]] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)  # of a word's token
    ends: list[int] = field(default_factory=list)
    in_multiword: list[bool] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)  # in lower case
    upos: list[str | None] = field(default_factory=list)
    xpos: list[str | None] = field(default_factory=list)
    feats: list[str] = field(default_factory=list)
    lemmas: list[str | None] = field(default_factory=list)
    deprels: list[str | None] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    function_words: dict[int, list[int]] = field(default_factory=dict)  # by head
    has_heads: bool = False

    @classmethod
    def of(cls, document: Document) -> DocumentWords:
        """The words of a document; CorpusError for a token without characters."""
        universal, relation = cache(_universal), cache(_relation)
        words, texts, at = cls(), list[str](), 0
        for i, sentence in enumerate(document.sentences):
            first, begin, n_words = len(words.forms), at, len(sentence.words)
            for token in sentence.tokens:
                text = token.form.translate(SPACES)
                if not text:
                    raise CorpusError(document.source, None, f"sentence {i} (counted from 0) has an empty token")
                texts.append(text)
                words.tokens.append((at, at + len(text)))
                if is_multiword := isinstance(token, MultiwordToken):
                    forms = [word.form for word in sentence.words[token.first - 1 : token.last]]
                else:
                    forms = [text]
                words.begins += [at] * len(forms)
                at += len(text)
                words.ends += [at] * len(forms)
                words.in_multiword += [is_multiword] * len(forms)
                words.forms += map(str.lower, forms)
            words.sentences.append((begin, at))
            for word in sentence.words:
                words.upos.append(word.upos)
                words.xpos.append(word.xpos)
                words.feats.append(universal(word.feats))
                words.lemmas.append(word.lemma)
                words.deprels.append(relation(word.deprel))
                if word.head is None or not 0 <= word.head <= n_words:
                    words.heads.append(UNKNOWN)
                else:
                    words.heads.append(first + word.head - 1 if word.head else ROOT)
        words.text = "".join(texts)
        words.has_heads = any(head != UNKNOWN for head in words.heads)
        for i, (head, deprel) in enumerate(zip(words.heads, words.deprels, strict=True)):
            if head >= 0 and deprel in FUNCTION:
                words.function_words.setdefault(head, []).append(i)
        return words

    def is_within(self, i: int, end: int) -> bool:
        """Whether word i belongs to a region up to end: in a multiword token that begins in it, or a token inside."""
        if i == len(self.forms):
            return False
        return self.begins[i] < end if self.in_multiword[i] else self.ends[i] <= end


def _universal(feats: str | None) -> str:
    """Universal features in one order."""
    return "|".join(sorted(one for one in (feats or "").split("|") if one.partition("=")[0] in UNIVERSAL))


def _relation(deprel: str | None) -> str | None:
    """The relation without its subtype."""
    return deprel and deprel.partition(":")[0]


# ------------------------------------------------------------ alignment of words


def aligned_words(gold: DocumentWords, predicted: DocumentWords) -> list[tuple[int, int]]:
    """Pairs of aligned words."""
    pairs, g, p = list[tuple[int, int]](), 0, 0
    while g < len(gold.forms) and p < len(predicted.forms):
        if gold.in_multiword[g] or predicted.in_multiword[p]:
            (a, b), (g, p) = _region(gold, predicted, g, p)
            pairs += [(a + i, b + j) for i, j in _common(gold.forms[a:g], predicted.forms[b:p])]
            continue
        if (gold.begins[g], gold.ends[g]) == (predicted.begins[p], predicted.ends[p]):
            pairs.append((g, p))
            g, p = g + 1, p + 1
        elif gold.begins[g] <= predicted.begins[p]:
            g += 1
        else:
            p += 1
    return pairs


def _region(gold: DocumentWords, predicted: DocumentWords, g: int, p: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The next words of both sides that multiword tokens cover: where they begin, and where they end.

    The region grows until no multiword token of either side begins within it and ends outside.
    """
    sides, at = (gold, predicted), [g, p]
    one = 0 if gold.in_multiword[g] else 1  # the side whose word is in a multiword token
    begin, other = sides[one].begins[at[one]], sides[1 - one]
    if not other.in_multiword[at[1 - one]] and other.begins[at[1 - one]] < begin:
        at[1 - one] += 1  # a token that begins before the region
    first, end = (at[0], at[1]), sides[one].ends[at[one]]
    while gold.is_within(at[0], end) or predicted.is_within(at[1], end):
        done = at[0] == len(gold.forms), at[1] == len(predicted.forms)
        one = 0 if done[1] or (not done[0] and gold.begins[at[0]] <= predicted.begins[at[1]]) else 1
        if sides[one].in_multiword[at[one]]:
            end = max(end, sides[one].ends[at[one]])
        at[one] += 1
    return first, (at[0], at[1])


def _common(gold: Sequence[str], predicted: Sequence[str]) -> list[tuple[int, int]]:
    """A longest common subsequence, as pairs of positions; of several the one that leaves out gold words first."""
    # longest[g][p] = length of the longest common subsequence of gold[g:] and predicted[p:]
    longest = [[0] * (len(predicted) + 1) for _ in range(len(gold) + 1)]
    for g in reversed(range(len(gold))):
        for p in reversed(range(len(predicted))):
            same = gold[g] == predicted[p]
            longest[g][p] = 1 + longest[g + 1][p + 1] if same else max(longest[g + 1][p], longest[g][p + 1])
    pairs, g, p = list[tuple[int, int]](), 0, 0
    while g < len(gold) and p < len(predicted):
        if gold[g] == predicted[p]:
            pairs.append((g, p))
            g, p = g + 1, p + 1
        elif longest[g][p] == longest[g + 1][p]:
            g += 1
        else:
            p += 1
    return pairs
