"""The whole theory in plain NumPy: read this first. It is also what the tests hold every native kernel against.

    chains.py     potentials, the best path, the k best, log Z, marginals; weights and Phi(x, y)
    loglinear.py  the CRF, the exponential loss, maximum entropy: losses and gradients
    steps.py      perceptron, passive-aggressive, MIRA, AROW: one sentence, one step
    margin.py     the step of the HM-SVM in the dual, by working sets and by Frank-Wolfe
    boosting.py   Sequence AdaBoost: the three bounds and one round
    counting.py   hidden Markov models by counts

Begin with chains.py; the others need nothing but it. Speed is no aim here: what is clearer by enumeration of all
paths is enumerated.
"""

from experiments.reference.chains import DenseWeights as DenseWeights
from experiments.reference.chains import Doubles as Doubles
from experiments.reference.chains import Marginals as Marginals
from experiments.reference.chains import Potentials as Potentials
from experiments.reference.chains import Tokens as Tokens
from experiments.reference.chains import add_features_of as add_features_of
from experiments.reference.chains import features_of as features_of
from experiments.reference.chains import kbest as kbest
from experiments.reference.chains import log_partition as log_partition
from experiments.reference.chains import log_sum_exp as log_sum_exp
from experiments.reference.chains import marginals as marginals
from experiments.reference.chains import ngram_table as ngram_table
from experiments.reference.chains import path_score as path_score
from experiments.reference.chains import potentials as potentials
from experiments.reference.chains import restrict as restrict
from experiments.reference.chains import viterbi as viterbi
from experiments.reference.steps import perceptron as perceptron
from experiments.reference.steps import perceptron_step as perceptron_step
