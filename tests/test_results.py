"""What README says of the benchmarks is what was kept; the guard tells a slower kernel."""

from benchmarks.guard import INSTRUCTIONS, compare
from benchmarks.report import README, with_section


def test_the_table_of_readme_agrees_with_the_results_kept():
    text = README.read_text(encoding="utf-8")
    assert with_section(text) == text, "stale: run python -m benchmarks report"


def test_the_guard_names_the_kernel_that_became_slower():
    known = {"fast": {INSTRUCTIONS: 100.0}, "slow": {INSTRUCTIONS: 100.0}}
    result = compare(INSTRUCTIONS, {"fast": 140.0, "slow": 160.0, "new": 1.0}, known)
    assert [row.get("met") for row in result.rows] == ["yes", "NO", None]
