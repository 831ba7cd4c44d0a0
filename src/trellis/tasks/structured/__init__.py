"""Learn to predict any structure (Collins 2002, figure 2): GEN, Phi and a weight for every feature.

A problem says what the outputs of an input are and which features they have; every learner of trellis that a problem
can answer runs on it.
"""

from trellis.tasks.structured.model import StructuredModel as StructuredModel
from trellis.tasks.structured.problem import CandidateProblem as CandidateProblem
from trellis.tasks.structured.problem import Parts as Parts
from trellis.tasks.structured.problem import PartsProblem as PartsProblem
from trellis.tasks.structured.problem import SearchProblem as SearchProblem
from trellis.tasks.structured.problem import StepProblem as StepProblem
from trellis.tasks.structured.problem import Weights as Weights
from trellis.tasks.structured.train import train as train
