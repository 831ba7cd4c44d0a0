"""Words of text that is written without blanks."""

from trellis.evaluation.words import WordScores as WordScores
from trellis.tasks.words.model import Segmenter as Segmenter
