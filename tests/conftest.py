"""Fixtures of more than one file, and a check of the names of tests."""

import os
import re

import pytest
from command_line import call, chunk, control_c, here

os.environ.setdefault("SOURCE_DATE_EPOCH", "1800000000")  # models have the day of their training in them

__all__ = ["call", "chunk", "control_c", "here"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Processes that share the tests must know them by the same names, so no name may have an object's address."""
    if bad := next((item.nodeid for item in items if re.search(r" at 0x[0-9a-f]+", item.nodeid)), None):
        raise pytest.UsageError(f"{bad}: its name changes from run to run; give the parameters ids")
