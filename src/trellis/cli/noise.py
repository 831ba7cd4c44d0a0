"""A noisy keyboard: some letters become a neighbour of theirs, as in the typos of Grover & Ngo Ho."""

from __future__ import annotations

import random

_ROWS = (("qwertyuiop", 0.0), ("asdfghjkl", 0.25), ("zxcvbnm", 0.75))  # letters and how far the row is set in
_PLACES = {
    letter: (row, shift + i) for row, (letters, shift) in enumerate(_ROWS) for i, letter in enumerate(letters)
}

# Keys that touch: in the same row or the next, at most one key's width to either side.
NEIGHBOURS = {
    letter: "".join(
        other
        for other, (row, x) in sorted(_PLACES.items())
        if other != letter and abs(row - here[0]) <= 1 and abs(x - here[1]) <= 1
    )
    for letter, here in _PLACES.items()
}


def mistype(word: str, rate: float, chance: random.Random) -> str:
    """The word (letters a to z) as typed: each letter is with probability ``rate`` one of its neighbours."""
    return "".join(chance.choice(NEIGHBOURS[c]) if chance.random() < rate else c for c in word)
