"""Training that goes on: a tagger learns from new sentences as well."""

from __future__ import annotations

from typing import Any

from trellis._support.arguments import instance
from trellis.learners.mira import MIRA
from trellis.learning.learner import Learner
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.train import train


def partial_fit(tagger: Tagger, corpus: Any, *, learner: Learner | None = None, **more: Any) -> Tagger:
    """Another tagger that has learnt from new sentences as well, one epoch of MIRA unless a learner is given.

    Labels and features that are new join the old ones. ``more`` are other parameters of ``train``.
    """
    instance("tagger", tagger, Tagger, "a tagger, such as trellis.load gives")
    return train(corpus, learner=MIRA(epochs=1) if learner is None else learner, init=tagger, **more)
