"""Words of text that is written without blanks."""

from trellis.segmentation.scores import WordScores as WordScores
from trellis.segmentation.segmenter import Segmenter as Segmenter
