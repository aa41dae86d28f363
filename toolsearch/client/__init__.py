"""The Python client of a toolsearch server, sync and async: the library's verbs and models over HTTP."""

from importlib.util import find_spec

from toolsearch.model.errors import MissingExtraError

if find_spec("httpx2") is None:
    raise MissingExtraError(package="httpx2", extra="client")

from toolsearch.client.asynchronous import AsyncClient
from toolsearch.client.synchronous import Client

__all__ = ["AsyncClient", "Client"]
