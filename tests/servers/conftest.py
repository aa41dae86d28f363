"""Configurations of real MCP servers."""

from pathlib import Path

import pytest
from real_servers import real_config, require_servers, write_config

from toolsearch.calls.upstream import UpstreamServer, read_config


@pytest.fixture
def real_file(tmp_path: Path) -> Path:
    """Return a configuration file of the real servers."""
    require_servers()
    return write_config(tmp_path, real_config(tmp_path))


@pytest.fixture
def real_servers(real_file: Path) -> dict[str, UpstreamServer]:
    """Return the real servers by name."""
    return {server.name: server for server in read_config(real_file).servers}
