"""The trained model as its user meets it: tagging, confidences, explanations."""

from trellis.tagger.tagger import Tagger as Tagger
from trellis.tagger.tagger import load as load
