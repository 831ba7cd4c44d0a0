"""exp and log of arrays against NumPy's, and the inverse that needs no library."""

from __future__ import annotations

import numpy as np
import pytest

from trellis.engine.elementary import exp, log
from trellis.learning.proximal import _inverse


def test_exp_and_log_of_arrays() -> None:
    x = np.random.default_rng(0).uniform(-300, 300, (4, 3, 5))
    np.testing.assert_allclose(exp(x[:, ::2]), np.exp(x[:, ::2]), rtol=1e-15)
    np.testing.assert_allclose(log(np.abs(x.T)), np.log(np.abs(x.T)), rtol=1e-15)
    assert [float(log(0.0)), float(exp(-np.inf))] == [-np.inf, 0.0]
    assert np.isnan(log(-1.0))
    assert exp(0).shape == ()


@pytest.mark.parametrize("n", [0, 1, 2, 7, 20])
def test_the_inverse(n: int) -> None:
    matrix = np.random.default_rng(n).normal(size=(n, n))
    if n > 1:
        matrix[0, 0] = 0  # so that rows must be exchanged
    np.testing.assert_allclose(_inverse(matrix), np.linalg.inv(matrix), rtol=1e-9, atol=1e-9)
