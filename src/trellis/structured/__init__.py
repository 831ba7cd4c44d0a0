"""Learn to predict any structure (Collins 2002, figure 2): GEN, Phi and a weight for every feature.

A problem says what the outputs of an input are and which features they have; every learner of trellis that a problem
can answer runs on it.
"""

from trellis.structured.fit import fit as fit
from trellis.structured.model import FeatureTerm as FeatureTerm
from trellis.structured.model import Prediction as Prediction
from trellis.structured.model import StructuredModel as StructuredModel
from trellis.structured.model import load as load
from trellis.structured.problem import CandidateProblem as CandidateProblem
from trellis.structured.problem import Parts as Parts
from trellis.structured.problem import PartsProblem as PartsProblem
from trellis.structured.problem import SearchProblem as SearchProblem
from trellis.structured.problem import StepProblem as StepProblem
from trellis.structured.problem import Weights as Weights

__all__ = [
    "CandidateProblem",
    "FeatureTerm",
    "Parts",
    "PartsProblem",
    "Prediction",
    "SearchProblem",
    "StepProblem",
    "StructuredModel",
    "Weights",
    "fit",
    "load",
]
