"""What pages say of the benchmarks is what was kept; the guard tells a slower kernel."""

from benchmarks.guard import INSTRUCTIONS, compare
from benchmarks.kernels import kernels
from benchmarks.report import pages


def test_tables_agree_with_the_results_kept():
    for page, text in pages().items():
        assert page.read_text(encoding="utf-8") == text, f"{page.name} is stale: run python -m benchmarks report"


def test_the_guard_names_the_kernel_that_became_slower():
    known = {"fast": {INSTRUCTIONS: 100.0}, "slow": {INSTRUCTIONS: 100.0}}
    result = compare(INSTRUCTIONS, {"fast": 140.0, "slow": 160.0, "new": 1.0}, known)
    assert [row.get("met") for row in result.rows] == ["yes", "NO", None]


def test_every_kernel_of_the_guard_runs(tmp_path):
    for kernel in kernels(tmp_path).values():
        kernel()
