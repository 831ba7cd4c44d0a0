"""Words of text that is written without blanks."""

from trellis.evaluation.words import WordReport as WordReport
from trellis.tasks.words.model import Segmenter as Segmenter
