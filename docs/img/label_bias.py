"""Draws label-bias-memm.svg and label-bias-crf.svg: the automaton of rib and rob, and what two models make of "rib"."""

import re
from pathlib import Path

import trellis
from trellis.display.svg import Picture

HERE = Path(__file__).parent
STEPS = [("0", "1"), ("0", "4"), ("1", "2"), ("4", "5"), ("2", "3"), ("5", "3")]  # pairs of states
NODES = ["0", "1", "4", "2", "5", "3"]


def picture(tagger: trellis.Tagger, word: str) -> Picture:
    """The automaton; on every edge the letter that was seen and the probability of the edge."""
    m = tagger.marginals(list(word), edges=True)
    depth = {"0": 0, "1": 1, "4": 1, "2": 2, "5": 2, "3": 3}
    found = [m.edges(depth[b] - 1).get(("<start>" if a == "0" else a, b), 0.0) for a, b in STEPS]
    names = [f"{word[depth[b] - 1]} {p:.3f}" for (_, b), p in zip(STEPS, found, strict=True)]
    graph = trellis.Hypergraph([NODES.index(b) for _, b in STEPS], [NODES.index(a) for a, _ in STEPS])
    best = set(zip(["0", *tagger.tag(list(word))], tagger.tag(list(word)), strict=False))
    return graph.draw([float(step in best) for step in STEPS], node_names=NODES, edge_names=names)


if __name__ == "__main__":
    scope: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", (HERE.parent / "label-bias.md").read_text(), re.MULTILINE | re.DOTALL)
    for block in blocks:  # the taggers of the page
        exec(block, scope)
    for name in ("memm", "crf"):
        picture(scope[name], "rib").save(HERE / f"label-bias-{name}.svg")  # type: ignore[arg-type]
