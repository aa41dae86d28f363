"""Servers over the small catalogue, with and without credentials."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from fastapi import FastAPI
from starlette.testclient import TestClient
from surface_catalogue import ADMIN, CATALOGUE, GUEST, LOOPBACK, RULES, SUPPORT

from toolsearch import ToolIndex
from toolsearch.serve.http.app import create_app
from toolsearch.serve.keys import new_key
from toolsearch.serve.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TOOLSEARCH_") and name != "TOOLSEARCH_DATA"]:
        monkeypatch.delenv(name)


@pytest.fixture
def index() -> Iterator[ToolIndex]:
    made = ToolIndex.create(None, rules=RULES, encoder="hashed")
    made.add(CATALOGUE)
    yield made
    made.close()


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Make a key for each principal, and `keys.yaml` that lets them in."""
    entries, secrets = [], {}
    for principal in (SUPPORT, GUEST, ADMIN):
        secret, digest = new_key()
        secrets[principal.subject] = secret
        entries.append({"sha256": digest, "principal": principal.model_dump(mode="json")})
    (tmp_path / "keys.yaml").write_text(yaml.safe_dump({"keys": entries}), encoding="utf-8")
    return secrets


@pytest.fixture
def secured(tmp_path: Path, keys: dict[str, str]) -> Settings:
    return load_settings(api_keys_file=tmp_path / "keys.yaml")


@pytest.fixture
def open_app(index: ToolIndex) -> FastAPI:
    """Return an application without credentials; the local principal is support staff and administers."""
    local = SUPPORT.model_copy(update={"roles": ("support", "toolsearch-admin")})
    return create_app(index, settings=load_settings(local_principal=local))


@pytest.fixture
def client(open_app: FastAPI) -> Iterator[TestClient]:
    with TestClient(open_app, base_url=LOOPBACK, raise_server_exceptions=False) as made:
        yield made


@pytest.fixture
def secured_client(index: ToolIndex, secured: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(index, settings=secured), base_url=LOOPBACK, raise_server_exceptions=False) as made:
        yield made
