"""From a corpus to a tagger."""

from trellis.learning.learner import Learner as Learner
from trellis.training.fit import train as train
from trellis.training.further import partial_fit as partial_fit
