"""Draws the pictures of notebooks.md into gallery/, and writes the piece of HTML on it: python -m docs.img.gallery.

Typos of examples/typos.py are what is learnt, letter by letter; trees and texts are small and made up.
"""

from pathlib import Path

import trellis
from examples.typos import make_typos
from trellis.corpus.brackets import parse_trees

HERE = Path(__file__).parent
TREE = "(S (NP (DT the) (JJ big) (NN dog)) (VP (VBD saw) (NP (NNP Ann)) (PP (IN in) (NP (NNP Rome)))) (. .))"
NAMES = {
    "word": [
        ["Ann", "lives", "in", "Rome", "."],
        ["Bob", "flew", "to", "New", "York", "."],
        ["Rome", "is", "old", "."],
    ],
    "ner": [
        ["B-PER", "O", "O", "B-LOC", "O"],
        ["B-PER", "O", "O", "B-LOC", "I-LOC", "O"],
        ["B-LOC", "O", "O", "O"],
    ],
}


def typos() -> tuple[trellis.Tagger, trellis.Corpus]:
    """A tagger of letters, and words it has not seen."""
    parts = make_typos(1, 6000)
    training, test = (
        trellis.read({"letter": [list(a) for a, _ in some], "meant": [list(b) for _, b in some]}) for some in parts
    )
    learner = trellis.CRF(epochs=30)
    return trellis.train(training, target="meant", features="letters", learner=learner, dev=test), test


def draw() -> None:
    """All pictures."""
    place = HERE / "gallery"
    place.mkdir(exist_ok=True)
    tagger, test = typos()
    tagger.draw(list("functuon"), most_labels=9).save(place / "trellis.svg")
    tagger.plot_history().save(place / "history.svg")
    tagger.error_analysis(test).plot().save(place / "confusions.svg")
    tagger.reliability(test).tokens.plot("letters").save(place / "reliability.svg")
    [tree] = parse_trees(TREE)
    tree.draw().save(place / "tree.svg")
    words, labels = ["the", "dog", "saw", "Ann", "in", "Rome"], ["det", "nsubj", "root", "obj", "case", "obl"]
    trellis.DependencyTree(words, [2, 3, 0, 3, 6, 3], labels).draw().save(place / "dependencies.svg")
    namer = trellis.train({k: v * 4 for k, v in NAMES.items()}, target="ner", learner=trellis.CRF())
    html = namer.tag_text("Ann flew to New York. Bob is in Rome.", confidence=True).to_html()
    page = HERE.parent / "notebooks.md"
    before, mark, rest = page.read_text().partition("<!-- text -->\n")
    _, end, after = rest.partition("<!-- end -->")
    found = f"{before}{mark}{html}\n{end}{after}"
    page.write_text(found)


if __name__ == "__main__":
    draw()
