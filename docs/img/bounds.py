"""Draws bounds.svg: mistakes of the perceptron on generated sentences, and what the theorems allow."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from experiments.bounds import draw_mistakes, study

N_WORDS, TAGS = 150, "XYZ"

if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "trellis"
    rng = np.random.default_rng(1)
    # A tag follows from its word and the one before.
    numbers = [rng.integers(0, N_WORDS, rng.integers(2, 8)) for _ in range(300)]
    words = [[str(n) for n in sentence] for sentence in numbers]
    tags = [[TAGS[(n * n + before) % 3] for n, before in zip(s, [0, *s[:-1]], strict=True)] for s in numbers]
    result = study({"word": words, "tag": tags}, target="tag", features=["word[0]", "word[-1] & word[0]"], order=1)
    draw_mistakes(result, str(Path(__file__).with_suffix(".svg")))
