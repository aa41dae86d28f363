"""The real MCP servers of `make servers`, as a configuration that people would write. Other tests use this too."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SERVERS = HERE.parents[1] / ".venv-servers"
GROWING = HERE / "growing_server.py"


def require_servers() -> None:
    """Skip the test where the servers are not installed."""
    if not (SERVERS / ".ready").exists():
        pytest.skip("the real MCP servers are not installed; run `make servers`")


def real_config(folder: Path) -> dict[str, Any]:
    """Return `mcpServers` of the seven real servers, which may touch nothing but a folder.

    Args:
        folder: Gets a git repository `repo` and a folder `files`.
    """
    (folder / "files").mkdir(exist_ok=True)
    (folder / "files" / "hello.txt").write_text("hello", encoding="utf-8")
    if not (folder / "repo").exists():
        subprocess.run(["git", "init", "-q", str(folder / "repo")], check=True)
    python, node = SERVERS / "bin", SERVERS / "node_modules" / ".bin"
    return {
        "mcpServers": {
            "git": {"command": str(python / "mcp-server-git"), "args": ["--repository", str(folder / "repo")]},
            "time": {"command": str(python / "mcp-server-time"), "args": ["--local-timezone", "UTC"]},
            "fetch": {"command": str(python / "mcp-server-fetch")},
            "filesystem": {"command": str(node / "mcp-server-filesystem"), "args": [str(folder / "files")]},
            "everything": {"command": str(node / "mcp-server-everything")},
            "memory": {
                "command": str(node / "mcp-server-memory"),
                "env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
            },
            "sequential-thinking": {"command": str(node / "mcp-server-sequential-thinking")},
        }
    }


def growing_config(*names: str) -> dict[str, Any]:
    """Return the entry of the growing server, run by the Python of the tests."""
    return {"command": sys.executable, "args": [str(GROWING), *names]}


def write_config(folder: Path, config: dict[str, Any]) -> Path:
    """Write a configuration file and return it."""
    path = folder / "mcp.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path
