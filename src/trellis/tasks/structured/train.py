"""Training of structured models: figure 2 of Collins 2002, and all other learners supported by a problem."""

from __future__ import annotations

from typing import Any, Unpack

from trellis._support.arguments import real_number
from trellis._support.errors import ArgumentError, LearnerError
from trellis.corpus.corpus import Strings
from trellis.learning.feature_problem import FeatureProblem, FeatureWeights
from trellis.learning.fit import Fit
from trellis.learning.learner import DEFAULT_UPDATE, Learner, check_update
from trellis.tasks.structured.encoding import Encoder, parts_of
from trellis.tasks.structured.model import StructuredModel
from trellis.tasks.structured.options import StructuredOptions
from trellis.tasks.structured.problem import Features, check_beam, check_pairs, kind_of, plain_features, same


def train(examples: Any, y: Any = None, **options: Unpack[StructuredOptions]) -> StructuredModel:
    """Train a structured model on pairs of inputs and outputs.

    Learners by kind of problem: with ``candidates`` or ``parts``, all learners of structures; with ``argmax``, the
    perceptron and passive-aggressive learners, and with ``augmented`` or ``kbest`` also MIRA and AROW; with
    ``choices``, all of these, by beam search.

    Parameters
    ----------
    examples
        Pairs (input, gold output); inputs alone if ``y`` is given.
    y : list, optional
        Gold outputs.
    problem : object
        Required. Defines the outputs of an input and their features: a `CandidateProblem`, `SearchProblem`,
        `PartsProblem` or `StepProblem`.
    learner : Learner or str, optional
        Online learner, `CRF`, `ExponentialLoss` or ``HMSVM(solver="frank-wolfe")`` (default: ``Perceptron()``).
    beam : int, optional
        Beam width for a problem with ``choices``.
    dev : data, optional
        Held-out data, in the form of the training data; the epoch with the best score on it is returned.
    metric : callable, optional
        Function of predicted and gold outputs that returns a score from 0 on (default: accuracy).
    patience : int, optional
        Number of epochs without a better score on ``dev`` after which training stops.
    checkpoint : path, optional
        File that training resumes from, with the same result as without an interruption.
    checkpoint_every : int, default 1
        Number of epochs between checkpoints.
    observer : callable, optional
        Function that gets an `Event` after each epoch; it may raise `StopTrainingError`.
    verbose : bool, default False
        Print one line per epoch on standard error.
    n_threads : int, optional
        Number of threads (default: all cores); the result does not depend on it.
    sample_weight : array-like, optional
        Weight of each example.
    init : StructuredModel or dict, optional
        Model for a warm start, or weights by the names of features.
    info : dict, optional
        Notes to store in the model; values must be JSON-serialisable.

    Returns
    -------
    StructuredModel
        The trained model.

    Raises
    ------
    LearnerError
        If an option is invalid, or the learner does not support the problem.

    Examples
    --------
    >>> import trellis
    >>> class Gender:
    ...     def candidates(self, name):
    ...         return ["f", "m"]
    ...     def features(self, name, gender):
    ...         return {f"ends in {name[-1]}, {gender}": 1}
    >>> model = trellis.StructuredModel.train([("Anna", "f"), ("Otto", "m")], problem=Gender())
    >>> model.predict("Maria")
    'f'
    """
    fit = Fit(StructuredOptions, options, metrics=None)
    settings, learner, problem = fit.settings, fit.learner, fit.settings.problem
    is_stepwise = kind_of(problem) == "choices"
    check_update(getattr(learner, "update", None), stepwise=is_stepwise)
    check_beam(problem, settings.beam)
    if settings.metric != "auto" and not callable(settings.metric):
        raise LearnerError(f"metric must be a function of outputs and gold outputs, not {settings.metric!r}")
    pairs = _some("example", examples, y)
    held_out = None if settings.dev is None else _some("dev example", settings.dev)
    encoder = Encoder(problem, settings.beam, _initial(settings.init, learner))
    encoded = encoder.encode(pairs, sentence_weights=fit.weights(len(pairs), "example"), n_threads=settings.n_threads)
    # Digests of the problem, of the initial weights and of the dev data.
    settings.problem, settings.init, settings.dev = type(problem).__name__, encoded.initial, None
    score, metric = fit.scorer(held_out), settings.metric
    if held_out is not None and metric != "auto":

        def score(model: StructuredModel) -> float:
            outputs = model.predict_batch([x for x, _ in held_out])
            return real_number("the value of metric(outputs, gold)", metric(outputs, [y for _, y in held_out]), 0.0)

    if settings.checkpoint is not None:
        if encoded.graphs is None:
            raise LearnerError("checkpoint needs a problem with candidates(x) or parts(x); omit it")
        settings.dev = None if held_out is None else [_outputs(encoder.problem, x, right) for x, right in held_out]

    def assemble(weights: FeatureWeights, record: dict[str, Any]) -> StructuredModel:
        names = encoder.names(len(weights.values))
        return StructuredModel(problem, names, weights, settings.beam, fit.notes, record)

    facts = {"problem": type(problem).__name__, "examples": len(pairs)}
    facts |= {"update": getattr(learner, "update", None) or DEFAULT_UPDATE} if is_stepwise else {}
    return fit.run(encoded, assemble, _data(encoder, encoded), score, **facts)


def _some(name: str, examples: Any, y: Any = None) -> list[tuple[Any, Any]]:
    pairs = check_pairs(name, examples, y)
    if not pairs:
        raise ArgumentError(f"{name}s must be a list of pairs of an input and its gold output, not empty")
    return pairs


def _initial(init: Any, learner: Learner) -> Features | None:
    """The initial weights by name; LearnerError if the learner does not support them."""
    if init is None:
        return None
    if not learner.takes_init:
        raise LearnerError(f"{type(learner).__name__} does not support init; omit it")
    if isinstance(init, StructuredModel):
        return dict(zip(init.names, init.weights.values.tolist(), strict=True))
    return plain_features(init, "init")


def _data(encoder: Encoder, encoded: FeatureProblem) -> tuple[Any, ...]:
    """The training data for the digest; for search problems only the features of gold outputs."""
    graphs = [(graph.heads, graph.tail_starts, graph.tails, graph.n_nodes, graph.goal) for graph in encoder.graphs]
    return Strings.of(encoder.numbers), graphs, encoded.gold, encoded.features, encoded.right_starts, encoded.costs


def _outputs(problem: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """The data that the score of a held-out pair depends on: features of all outputs, and the gold output."""
    parts, candidates = parts_of(problem, x, "dev")
    if candidates is None:
        try:
            right = sorted(map(int, problem.edges(x, y)))
        except Exception:  # raised by the problem for outputs that it cannot derive
            right = []
    else:
        right = [i for i, z in enumerate(candidates) if same(y, z)]
    graph, features = parts.graph, [plain_features(feature_dict, "dev") for feature_dict in parts.features]
    return graph.heads, graph.tail_starts, graph.tails, graph.n_nodes, graph.goal, features, right
