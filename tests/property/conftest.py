"""Indexes that the properties fill anew for every example."""

from collections.abc import Iterator

import pytest

from toolsearch import ToolIndex


@pytest.fixture(scope="module")
def whole() -> Iterator[ToolIndex]:
    with ToolIndex.create(None, encoder="hashed") as index:
        yield index


@pytest.fixture(scope="module")
def alone() -> Iterator[ToolIndex]:
    with ToolIndex.create(None, encoder="hashed") as index:
        yield index
