"""Options of the training of a word segmenter."""

from typing import Annotated

from trellis.features.vocabulary import TemplateSource
from trellis.learners.online import MIRA
from trellis.learning.learner import Learner, flag
from trellis.learning.options import Option
from trellis.tasks.tagging.options import FEATURES, LEARNER, ChainOptions, Features

DEFAULT = MIRA(epochs=10)
DEFAULT_FEATURES = Features("segmentation")


class WordsOptions(ChainOptions, total=False):
    """Options of `train` of a word segmenter."""

    features: Annotated[
        TemplateSource | Features | None,
        Option(DEFAULT_FEATURES, FEATURES, "character templates, or a `Features`"),
    ]
    learner: Annotated[Learner | str | None, Option(DEFAULT, LEARNER, "learner, or its name", "data")]
    lenient: Annotated[bool, Option(False, flag(), "skip lines that are not UTF-8 or contain no word", "run")]
