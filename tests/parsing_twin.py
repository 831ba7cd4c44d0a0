"""Dependency parsing over strings and lists of all trees: what tests hold the parser against."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from trellis.features.templates import Template
from trellis.features.vocabulary import function_of

Sentence = Mapping[str, Sequence[str]]
Heads = tuple[int, ...]


def is_tree(heads: Heads) -> bool:
    if heads.count(0) != 1:
        return False
    for word in range(1, len(heads) + 1):
        seen = set[int]()
        while word:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    return True


def crosses(heads: Heads) -> bool:
    """Whether two arcs cross; the root stands before the first word."""
    arcs = [tuple(sorted((h, m))) for m, h in enumerate(heads, 1)]
    return any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))


def all_trees(n: int, *, projective: bool) -> Iterator[Heads]:
    for heads in itertools.product(range(n + 1), repeat=n):
        if is_tree(heads) and not (projective and crosses(heads)):
            yield heads


def sibling(heads: Heads, word: int) -> int | None:
    """The next word of the same head between it and this one."""
    head = heads[word - 1]
    between = range(head + 1, word) if head < word else range(head - 1, word, -1)
    found = [m for m in between if heads[m - 1] == head] if head else []
    return found[-1] if found else None


def distance_name(head: int, word: int) -> str:
    far = word - head
    if abs(far) <= 5:
        return str(far)
    return f"{'+' if far > 0 else '-'}{'6..10' if abs(far) <= 10 else '11..'}"


def attributes(
    templates: Sequence[Template], x: Sentence, head: int, sibling: int | None, word: int, label: str = ""
) -> Counter[str]:
    """What templates say of an arc, by the names that explanations have."""
    n = len(next(iter(x.values())))
    at = {"head": head - 1, "dep": word - 1, "sibling": n if sibling is None else sibling - 1}
    out = Counter[str]()
    for template in templates:
        ranges = any(look.place == "between" for look in template.looks)
        between = range(min(head, word), max(head, word) - 1) if ranges else [None]
        names = set[str]()
        for place in between:
            said: list[str] | None = [f"label={label}"] if template.labelled and label else []
            for look in template.looks:
                assert said is not None
                if look.place == "direction":
                    said.append(f"direction={'right' if word > head else 'left'}")
                elif look.place == "distance":
                    said.append(f"distance={distance_name(head, word)}")
                else:
                    token = place if look.place == "between" else at[look.place] + look.offset
                    assert token is not None
                    if 0 <= token < n:
                        value: str | None = x[look.column][token]
                        if look.calls:
                            value = function_of(look.calls, {}, look.column)(value or "")
                        if value is None:
                            said = None
                            break
                        said.append(f"{look}={value}")
                    else:
                        beyond = f"_B-{-token}" if token < 0 else f"_B+{token - n + 1}"
                        said.append(f"{look}={'_ROOT' if token == -1 else beyond}")
            if said is not None:
                names.add(" & ".join(said) or "bias")
        out.update(names)
    return out
