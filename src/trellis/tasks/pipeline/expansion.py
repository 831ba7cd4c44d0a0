"""`Expander`: the words of multiword tokens, such as *du* for *de le*, learned from the ranges of a treebank."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any, NamedTuple, Self

from trellis._support.arguments import is_text
from trellis._support.arrays import Arrays
from trellis._support.errors import CorpusError
from trellis._support.tensor_file import Tensors
from trellis.tasks.pipeline.edit_scripts import common_substring

ENOUGH = 2  # forms that must show a rule
LIKELY = 0.5  # share above which a form that would have a rule's words is stored because it has not
MOST = 64  # letters that a rule looks at


class Rule(NamedTuple):
    """Words of forms with a certain beginning and end; the letters between them, the stem, are kept.

    Attributes
    ----------
    begin
        First letters of the form.
    end
        Last letters of the form.
    before
        Words before the word that has the stem.
    front
        Letters of that word before the stem.
    back
        Letters of that word after the stem.
    after
        Words after that word.
    """

    begin: str
    end: str
    before: tuple[str, ...]
    front: str
    back: str
    after: tuple[str, ...]

    def fits(self, form: str) -> bool:
        """Whether a form has the beginning, the end and at least one letter between them."""
        longer = len(form) > len(self.begin) + len(self.end)
        return longer and form.startswith(self.begin) and form.endswith(self.end)

    def word(self, form: str) -> str:
        """The word that has the stem of a form."""
        return self.front + form[len(self.begin) : len(form) - len(self.end)] + self.back


class Entry(NamedTuple):
    """What is known about a form.

    Attributes
    ----------
    words
        Its words; empty if it never was a multiword token.
    share
        Share of its occurrences that were multiword tokens.
    """

    words: tuple[str, ...]
    share: float


class Expander:
    """Words of multiword tokens: by a dictionary of forms, for other forms by rules of their beginnings and endings.

    Parameters
    ----------
    entries
        What is known about forms, most of them in lower case.
    rules
        Rules with the share of their forms that are multiword tokens; the first that fits is used.
    """

    def __init__(self, entries: Mapping[str, Entry], rules: Sequence[tuple[Rule, float]]) -> None:
        self.entries, self.rules = entries, rules

    @classmethod
    def train(cls, ranges: Iterable[tuple[str, Sequence[str]]], singles: Iterable[str]) -> Expander:
        """Learn from the tokens of a treebank.

        Parameters
        ----------
        ranges
            Form and words of each multiword token.
        singles
            Form of every other token.

        Returns
        -------
        Expander
            The expander.

        Raises
        ------
        CorpusError
            If a multiword token has fewer than two words, or an empty word.
        """
        by_form, by_lower = defaultdict[str, Counter[tuple[str, ...]]](Counter), Counter[str]()
        for form, words in ranges:
            if len(words) < 2 or not form or not all(words):
                raise CorpusError(
                    "", None, f"the multiword token {form!r} has the words {list(words)!r}; expected two or more"
                )
            by_form[form][tuple(words)] += 1
            by_lower[form.lower()] += 1
        one_word = Counter(form.lower() for form in singles)
        words_of = {form: _most_common(by_form[form]) for form in sorted(by_form)}
        entries = dict[str, Entry]()
        for lower, words in _in_lower_case(by_form).items():
            entries[lower] = Entry(words, by_lower[lower] / (by_lower[lower] + one_word[lower]))
        rules = _rules({lower: entry.words for lower, entry in entries.items()}, one_word)
        out = cls(entries, rules)
        for form, words in words_of.items():
            if out._known(form) != words:  # written in another way than in lower case
                entries[form] = Entry(words, entries[form.lower()].share)
        for lower in sorted(one_word.keys() - entries.keys()):
            if out.share(lower) > LIKELY:
                entries[lower] = Entry((), 0.0)
        return out

    def expand(self, form: str) -> list[str] | None:
        """Expand a multiword token.

        Parameters
        ----------
        form
            The token.

        Returns
        -------
        list[str] or None
            Its words; None if neither dictionary nor rules know any.
        """
        words = self._known(form)
        if words is None:
            lower = form.lower()
            rule = next((rule for rule, _ in self.rules if rule.fits(lower)), None)
            if rule is None:
                return None
            word = rule.word(lower)
            entry = self.entries.get(word)  # the word may be a multiword token itself: Hebrew "and" + "the house"
            inner = entry.words if entry is not None and entry.words and entry.share == 1 else (word,)
            words = _cased(form, (*rule.before, *inner, *rule.after))
        return list(words)

    def share(self, form: str) -> float:
        """Look up how often a form is a multiword token: 1 always, 0 never.

        Parameters
        ----------
        form
            The token.

        Returns
        -------
        float
            Share of its occurrences in training; of a form that was not seen, share of the forms with its rule.
        """
        lower = form.lower()
        if lower in self.entries:
            return self.entries[lower].share
        return next((share for rule, share in self.rules if rule.fits(lower)), 0.0)

    def _known(self, form: str) -> tuple[str, ...] | None:
        """The words of a form in the dictionary."""
        entry = self.entries.get(form)
        if entry is not None and entry.words:
            return entry.words
        entry = self.entries.get(form.lower())
        return _cased(form, entry.words) if entry is not None and entry.words else None

    # ------------------------------------------------------------ files

    def tensors(self) -> Arrays:
        """Convert to named arrays, for files: there are none.

        Returns
        -------
        Arrays
            Arrays by name.
        """
        return {}

    @property
    def header(self) -> dict[str, Any]:
        """Values that are not arrays, for files."""
        entries = [[form, list(entry.words), entry.share] for form, entry in self.entries.items()]
        return {"entries": entries, "rules": [[*rule, share] for rule, share in self.rules]}

    @classmethod
    def of(cls, tensors: Tensors, header: Mapping[str, Any]) -> Self:
        """Make the expander from the content of a file.

        Parameters
        ----------
        tensors
            Arrays by name.
        header
            The values that are not arrays.

        Returns
        -------
        Expander
            The expander.

        Raises
        ------
        ValueError, LookupError or TypeError
            If the content is damaged.
        """
        entries, rules = dict[str, Entry](), list[tuple[Rule, float]]()
        for form, words, share in header["entries"]:
            entries[_text(form)] = Entry(_texts(words), _share(share))
        for begin, end, before, front, back, after, share in header["rules"]:
            rule = Rule(_text(begin), _text(end), _texts(before), _text(front), _text(back), _texts(after))
            rules.append((rule, _share(share)))
        return cls(entries, rules)


# ------------------------------------------------------------ case


def _cased(form: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Words of the form in lower case, written like the form."""
    lower = form.lower()
    if form == lower:
        return words
    if len(form) == len(lower) and "".join(words) == lower:  # the form was cut
        ends = [sum(map(len, words[:i])) for i in range(len(words) + 1)]
        return tuple(form[a:b] for a, b in pairwise(ends))
    if len(form) > 1 and form.isupper():
        return tuple(word.upper() for word in words)
    return (words[0][:1].upper() + words[0][1:], *words[1:]) if form[:1].isupper() else words


def _in_lower_case(by_form: Mapping[str, Counter[tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """The words of each form in lower case, of forms written so if there are any."""
    out = {form: _most_common(counts) for form, counts in by_form.items() if form == form.lower()}
    others = defaultdict[str, Counter[tuple[str, ...]]](Counter)
    for form, counts in by_form.items():
        if form.lower() not in out:
            for words, n in counts.items():
                others[form.lower()][tuple(word.lower() for word in words)] += n
    return dict(sorted((out | {form: _most_common(counts) for form, counts in others.items()}).items()))


def _most_common(counts: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    """The most frequent words, the first ones alphabetically of those."""
    return min(counts, key=lambda words: (-counts[words], words))


# ------------------------------------------------------------ rules


def _rules(words_of: Mapping[str, tuple[str, ...]], one_word: Mapping[str, int]) -> list[tuple[Rule, float]]:
    """The rules that forms show, best first, with the share of their forms that are multiword tokens.

    Of the rules that explain a form, the one that explains most forms counts.
    """
    possible = {form: _explanations(form, words) for form, words in words_of.items()}
    n_explained = Counter(rule for rules in possible.values() for rule in rules)

    def rank(rule: Rule) -> tuple[int, int, Rule]:
        return -n_explained[rule], len(rule.begin) + len(rule.end), rule

    chosen = Counter(min(rules, key=rank) for rules in possible.values() if rules)
    best = dict[tuple[str, str], Rule]()
    for rule in sorted(chosen, key=lambda rule: (-chosen[rule], rule)):
        if chosen[rule] >= ENOUGH:
            best.setdefault((rule.begin, rule.end), rule)
    fitting, others = _fitting(words_of, best), _fitting(one_word, best)

    def order(key: tuple[str, str]) -> tuple[bool, float, int, tuple[str, str]]:
        """Longest first if they are right for half of their forms, others by confidence."""
        n, n_letters = chosen[best[key]], len(key[0]) + len(key[1])
        reliable = 2 * n >= fitting[key]
        return not reliable, -n_letters if reliable else -(n - 0.5) / (fitting[key] + 0.5), -n, key

    return [(best[key], fitting[key] / (fitting[key] + others[key])) for key in sorted(best, key=order)]


def _explanations(form: str, words: tuple[str, ...]) -> set[Rule]:
    """The rules that give the words of a form, by what one word shares with it: beginning, end or longest substring."""
    out = set[Rule]()
    for m, word in enumerate(words):
        n_first, n_last = _n_equal(form, word), _n_equal(form[::-1], word[::-1])
        stems = {
            (0, 0, n_first),
            (len(form) - n_last, len(word) - n_last, n_last),
            common_substring(form, word) or (0, 0, 0),
        }
        for at, to, n in stems:
            begin, end = form[:at], form[at + n :]
            if n and len(begin) + len(end) <= MOST:
                out.add(Rule(begin, end, words[:m], word[:to], word[to + n :], words[m + 1 :]))
    return out


def _n_equal(a: str, b: str) -> int:
    """Length of the longest common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _fitting(forms: Iterable[str], rules: Mapping[tuple[str, str], Rule]) -> Counter[tuple[str, str]]:
    """Number of forms that each rule fits, by its beginning and end."""
    ends = defaultdict[str, list[str]](list)
    for begin, end in rules:
        ends[begin].append(end)
    longest, out = max(map(len, ends), default=0), Counter[tuple[str, str]]()
    for form in forms:
        for n in range(min(longest, len(form)) + 1):
            for end in ends.get(form[:n], ()):
                if len(form) > n + len(end) and form.endswith(end):
                    out[form[:n], end] += 1
    return out


# ------------------------------------------------------------ checks


def _text(value: object) -> str:
    """ValueError unless the value is a string that can be encoded."""
    if not isinstance(value, str) or not is_text(value):
        raise ValueError("a word that is not text")
    return value


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise ValueError("words that are not a list")
    return tuple(map(_text, values))


def _share(value: object) -> float:
    if not isinstance(value, float) or not 0 <= value <= 1:
        raise ValueError("a share that is not between 0 and 1")
    return value
