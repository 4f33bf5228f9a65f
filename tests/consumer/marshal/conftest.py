"""Whole members on a log of claims: left to the whole run; the rooms' tests are the fast ones."""

import os
from pathlib import Path

import pytest

_HERE = f"{Path(__file__).parent}{os.sep}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder as slow."""
    for item in items:
        # Every item of the run comes by: its parents took half a second of a whole collection.
        if str(item.path).startswith(_HERE):
            item.add_marker(pytest.mark.slow)
