"""The OpenAPI document against the running application: no 5xx, and every answer as the document says.

The requests are generated from the document itself; the seed is fixed by `derandomize`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from surface_catalogue import CATALOGUE, LOOPBACK, RULES, SUPPORT

from toolsearch import ToolIndex
from toolsearch.serve.http.app import create_app
from toolsearch.serve.settings import load_settings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:schemathesis"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:jsonschema"),
]
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@asynccontextmanager
async def _endless(_: FastAPI) -> AsyncIterator[None]:
    yield


@pytest.fixture(scope="module")
def api() -> Iterator[schemathesis.BaseSchema]:
    index = ToolIndex.create(None, rules=RULES, encoder="hashed")
    index.add(CATALOGUE)
    local = SUPPORT.model_copy(update={"roles": ("support", "toolsearch-admin")})
    app = create_app(index, settings=load_settings(local_principal=local))
    app.router.lifespan_context = _endless  # schemathesis starts and stops the application for every request
    yield schemathesis.openapi.from_asgi("/openapi.json", app, headers={"Host": "127.0.0.1"})
    index.close()


OPERATIONS = [
    ("POST", "/v1/search"),
    ("POST", "/v1/explain"),
    ("POST", "/v1/why-not"),
    ("GET", "/v1/tools"),
    ("GET", "/v1/export"),
    ("PUT", "/v1/tools"),
    ("POST", "/v1/tools:import"),
    ("GET", "/v1/sources"),
    ("GET", "/v1/tools/{ref}"),
    ("DELETE", "/v1/tools/{ref}"),
    ("PUT", "/v1/rules"),
    ("GET", "/v1/decisions/{trace_id}"),
    ("POST", "/v1/outcomes"),
    ("POST", "/v1/learn"),
    ("POST", "/v1/forget"),
    ("POST", "/v1/sessions"),
    ("GET", "/v1/sessions/{session_id}"),
    ("POST", "/v1/sessions/{session_id}/refresh"),
    ("DELETE", "/v1/sessions/{session_id}"),
    ("POST", "/v1/diff"),
    ("GET", "/v1/history/{ref}"),
    ("GET", "/v1/contracts"),
    ("GET", "/v1/pending"),
    ("POST", "/v1/approve"),
    ("POST", "/v1/reject"),
    ("POST", "/v1/rollback"),
    ("GET", "/v1/lint"),
    ("GET", "/v1/models"),
    ("POST", "/v1/models"),
    ("POST", "/v1/models/{number}/activate"),
    ("POST", "/v1/models/rollback"),
    ("POST", "/v1/prepare"),
    ("GET", "/healthz"),
    ("GET", "/livez"),
    ("GET", "/metrics"),
]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_document_and_the_server_agree(api: schemathesis.BaseSchema, method: str, path: str) -> None:
    @settings(
        max_examples=40,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=api[path][method].as_strategy())
    def agrees(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=LOOPBACK, checks=CHECKS)

    agrees()


def test_every_operation_is_tested(api: schemathesis.BaseSchema) -> None:
    found = {(one.ok().method.upper(), one.ok().path) for one in api.get_all_operations()}
    assert found == set(OPERATIONS)
