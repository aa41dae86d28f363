"""API keys: random secrets of which the server keeps only hashes, each with the principal that holds it."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path

import yaml
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from toolsearch import Principal
from toolsearch.model.errors import PolicyError

KEY_PREFIX = "tsk_"
"""Begins every API key, so that secret scanners can find a leaked one."""


class KeyEntry(BaseModel):
    """One entry of the keys file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    principal: Principal
    expires: AwareDatetime | None = None
    note: str = ""


class KeyFile(BaseModel):
    """The keys file: who holds which key, without the keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keys: tuple[KeyEntry, ...] = Field(min_length=1)


def new_key() -> tuple[str, str]:
    """Return a fresh API key of 256 random bits, and the sha256 that goes into the keys file."""
    key = KEY_PREFIX + secrets.token_urlsafe(32)
    return key, key_digest(key)


def key_digest(key: str) -> str:
    """Return the sha256 of a key in hex. A plain hash is enough: a random key cannot be guessed from a dictionary."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def find_key(key: str, *, entries: Sequence[KeyEntry]) -> KeyEntry | None:
    """Return the entry of a key, or None. All entries are compared, so that the time taken tells nothing."""
    digest = key_digest(key)
    found: KeyEntry | None = None
    for entry in entries:
        if hmac.compare_digest(entry.sha256, digest):
            found = entry
    return found


def read_keys(path: Path) -> tuple[KeyEntry, ...]:
    """Read a keys file.

    Raises:
        PolicyError: If the file cannot be read or does not have the form of `KeyFile`.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        return KeyFile.model_validate(data).keys
    except OSError as error:
        raise PolicyError(f"API keys file {path}: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise PolicyError(f"API keys file {path} is not YAML or JSON") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "top"
        raise PolicyError(f"API keys file {path}: {place}: {first['msg']}") from None
