"""Whole members on a log of claims: left to the whole run; the rooms' tests are the fast ones."""

from pathlib import Path

import pytest

_HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder as slow."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
