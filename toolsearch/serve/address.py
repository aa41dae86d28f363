"""`server.json` in the index folder: where the server that owns the index listens.

The registry has one writing process. The command line reads this file to talk to that process instead of opening the
index itself. A file whose process is gone is stale and is ignored; the next server overwrites it.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

FILE_NAME = "server.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """One running server.

    Attributes:
        host: Address it is reached under.
        port: Its port.
        pid: Its process.
        instance: Its random id, which `/healthz` returns too.
    """

    host: str
    port: int
    pid: int
    instance: str

    @property
    def url(self) -> str:
        """Return the base URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def write_address(folder: Path, address: ServerAddress) -> None:
    """Put the address into the index folder, whole or not at all."""
    target = folder / FILE_NAME
    draft = folder / f".{FILE_NAME}.{address.pid}.tmp"
    draft.write_text(json.dumps(asdict(address)) + "\n", encoding="utf-8")
    draft.replace(target)


def read_address(folder: Path) -> ServerAddress | None:
    """Return the server of an index folder, or None where none is running."""
    try:
        data = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        address = ServerAddress(
            host=str(data["host"]),
            port=int(data["port"]),
            pid=int(data["pid"]),
            instance=str(data["instance"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return address if _alive(address.pid) else None


def remove_address(folder: Path, *, instance: str) -> None:
    """Take the address away, if it is still the one of this server."""
    address = read_address(folder)
    if address is not None and address.instance == instance:
        (folder / FILE_NAME).unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OSError):
        return True
    return True
