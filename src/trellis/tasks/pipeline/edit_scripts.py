"""Edit scripts: how a form becomes its lemma, in terms that many words share.

A script first changes the case of the form. Then it edits a beginning and an end of fixed lengths and keeps the letters
between them, or it replaces the whole form:

    walking -> walk      ["lower", [], [-3]]
    gesungen -> singen   ["lower", [-2, 1, -1, "i"], []]: cut ge, keep s, cut u, add i
    was -> be            ["whole", ["be"], []]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

from trellis._support.arguments import is_text

# Changes of case. Of scripts that are equally short, the first is chosen: `lower` before `keep`, so that a word has one
# script in the middle of a sentence and at its beginning.
CASES: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "keep": lambda form: form,
    "lower first": lambda form: form[:1].lower() + form[1:],
    "title": lambda form: form[:1].upper() + form[1:].lower(),
    "upper first": lambda form: form[:1].upper() + form[1:],
    "upper": str.upper,
}
WHOLE = "whole"  # in place of a case: the form is replaced
MOST = 200  # letters of a form or lemma; longer ones are not aligned, which would take long

SHOWN = 100  # letters of a damaged script in a message

# Edits of one side, from left to right: n > 0 keeps n letters, n < 0 cuts -n letters, a string is added.
Edits = tuple[int | str, ...]


class EditScript(NamedTuple):
    """A script from forms to lemmas.

    Attributes
    ----------
    case
        Change of case, a key of ``CASES``, or ``WHOLE``.
    left
        Edits of the beginning; of ``WHOLE`` the lemma alone.
    right
        Edits of the end.
    """

    case: str
    left: Edits = ()
    right: Edits = ()

    @classmethod
    def between(cls, form: str, lemma: str) -> EditScript:
        """Find the shortest script from a form to its lemma.

        Parameters
        ----------
        form
            The form.
        lemma
            The lemma.

        Returns
        -------
        EditScript
            The script; applied to the form it gives the lemma.
        """
        best, least = cls(WHOLE, (lemma,)), len(lemma) + 1.5  # ties are for edits, which apply to more words
        tried = set[str]()
        for case, change in CASES.items():
            cased = change(form)
            if cased in tried:
                continue
            tried.add(cased)
            edits: tuple[Edits, Edits] | None = ((), ()) if cased == lemma else None
            if edits is None and max(len(cased), len(lemma)) <= MOST:
                edits = _aligned(cased, lemma)
            if cased and edits is not None and (cost := _cost(edits[0]) + _cost(edits[1])) < least:
                best, least = cls(case, *edits), cost
        return best

    def apply(self, form: str) -> str | None:
        """Apply the script.

        Parameters
        ----------
        form
            A form.

        Returns
        -------
        str or None
            The lemma; None if the form is too short, or no letter would remain.
        """
        if self.case == WHOLE:
            return str(self.left[0])
        cased = CASES[self.case](form)
        n_left, n_right = _length(self.left), _length(self.right)
        end = len(cased) - n_right
        if n_left >= end:  # a letter between them is kept
            return None
        return _edited(cased[:n_left], self.left) + cased[n_left:end] + _edited(cased[end:], self.right) or None

    def __str__(self) -> str:
        return json.dumps(self, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> EditScript:
        """Read the text of a script.

        Parameters
        ----------
        text
            The text, as ``str(script)`` gives it.

        Returns
        -------
        EditScript
            The script.

        Raises
        ------
        ValueError
            If it is not the text of a script.
        """
        parts = json.loads(text)
        if not (isinstance(parts, list) and len(parts) == 3 and parts[0] in (*CASES, WHOLE)):
            raise ValueError(f"not an edit script: {text[:SHOWN]!r}")
        script = cls(parts[0], _checked(parts[1]), _checked(parts[2]))
        if script.case == WHOLE and not (
            len(script.left) == 1 and isinstance(script.left[0], str) and not script.right
        ):
            raise ValueError(f"not an edit script: {text[:SHOWN]!r}")
        return script


def _aligned(form: str, lemma: str) -> tuple[Edits, Edits] | None:
    """Edits around the longest common substring; None if there is none. Within the sides likewise."""
    found = common_substring(form, lemma)
    if found is None:
        return None
    at, to, n = found
    return tuple(_edits(form[:at], lemma[:to])), tuple(_edits(form[at + n :], lemma[to + n :]))


def _edits(source: str, target: str) -> Iterator[int | str]:
    """Edits from one string to another."""
    found = common_substring(source, target)
    if found is None:
        if source:
            yield -len(source)
        if target:
            yield target
        return
    at, to, n = found
    yield from _edits(source[:at], target[:to])
    yield n
    yield from _edits(source[at + n :], target[to + n :])


def common_substring(source: str, target: str) -> tuple[int, int, int] | None:
    """The first longest common substring: where it begins in both, and its length; None if there is none."""
    for n in range(min(len(source), len(target)), 0, -1):
        for at in range(len(source) - n + 1):
            to = target.find(source[at : at + n])
            if to >= 0:
                return at, to, n
    return None


def _cost(edits: Edits) -> int:
    """Length of a description: one for each edit and each added letter."""
    return sum(1 if isinstance(edit, int) else 1 + len(edit) for edit in edits)


def _length(edits: Edits) -> int:
    """Number of letters of the form that are edited."""
    return sum(abs(edit) for edit in edits if isinstance(edit, int))


def _edited(text: str, edits: Edits) -> str:
    out, at = list[str](), 0
    for edit in edits:
        if isinstance(edit, str):
            out.append(edit)
        elif edit > 0:
            out.append(text[at : at + edit])
        at += 0 if isinstance(edit, str) else abs(edit)
    return "".join(out)


def _checked(edits: object) -> Edits:
    """Edits read from a text; ValueError unless each is a nonempty string or a number of letters."""
    if not isinstance(edits, list):
        raise ValueError("edits that are not a list")
    for edit in edits:
        is_number = isinstance(edit, int) and not isinstance(edit, bool) and 0 < abs(edit) <= MOST
        if not (is_number or (isinstance(edit, str) and is_text(edit))):
            raise ValueError(f"an edit that is neither letters nor their number: {str(edit)[:SHOWN]!r}")
    return tuple(edits)
