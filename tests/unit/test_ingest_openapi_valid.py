"""The documents that the readers are tested with are valid, as judged by somebody else."""

from __future__ import annotations

import json

import pytest
from openapi_documents import DOCUMENTS

validator = pytest.importorskip(
    "openapi_spec_validator", reason="openapi-spec-validator is not installed: make test-all"
)

pytestmark = pytest.mark.extras


@pytest.mark.parametrize("version", DOCUMENTS)
def test_each_document_is_valid(version: str) -> None:
    validator.validate(json.loads(json.dumps(DOCUMENTS[version])))
