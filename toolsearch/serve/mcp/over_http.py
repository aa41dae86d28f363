"""MCP at `/mcp` of the sidecar, over streamable HTTP, behind the guard: the principal is that of the credentials.

The package mcp takes half a second to import, so that is done with the first request.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.types import Receive, Scope, Send

from toolsearch import Principal
from toolsearch.serve.gateways import LateGateway
from toolsearch.serve.http.guard import MCP_PATH, principal_of_state
from toolsearch.serve.sidecar import Sidecar, SidecarCall

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from toolsearch.calls.gateway.gateway import Gateway
    from toolsearch.serve.mcp.verbs import Caller, Verb

SESSION_HEADER = "Toolsearch-Session"
"""Names the conversation where the arguments of a call do not."""

_TRANSPORT_SESSION_HEADER = "Mcp-Session-Id"
_LOCAL = ("127.0.0.1", "localhost", "[::1]")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarDesk:
    """Answers from the index of a sidecar, computed in its threads.

    Attributes:
        sidecar: Whose.
        late: Its gateway.
    """

    sidecar: Sidecar
    late: LateGateway

    async def read(self, verb: Verb[T]) -> T:
        """Run a verb of the index, within `request_timeout_s`."""
        return await SidecarCall(sidecar=self.sidecar, principal=Principal()).read(verb)

    async def gateway(self) -> Gateway:
        """Return what calls are forwarded through."""
        return await self.late.get()


class McpEndpoint:
    """The ASGI application at `/mcp`.

    Attributes:
        path_format: What the guard calls this endpoint in its log and metrics.
    """

    path_format = MCP_PATH

    def __init__(self, sidecar: Sidecar) -> None:
        """Prepare; nothing is imported before the first request."""
        self._sidecar = sidecar
        self._late = LateGateway(sidecar.ready_index, servers=sidecar.servers, settings=sidecar.settings)
        self._lock = asyncio.Lock()
        self._stop = asyncio.Event()
        self._manager: StreamableHTTPSessionManager | None = None
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self._sidecar.ready_index()
        manager = await self._started()
        scope["route"] = self
        scope["user"] = _owner(principal_of_state(_State(scope)))
        await manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End all sessions and connections."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        await self._late.close()

    async def _started(self) -> StreamableHTTPSessionManager:
        async with self._lock:
            if self._manager is None:
                await asyncio.to_thread(_import)
                self._manager = self._make()
                running = asyncio.Event()
                self._task = asyncio.create_task(self._run(self._manager, running), name="mcp sessions")
                await running.wait()
            return self._manager

    def _make(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        from toolsearch.serve.mcp.server import make_server

        # Where there are no credentials a web page must not reach us through a browser on this machine.
        names = [name for host in _LOCAL for name in (host, f"{host}:*")]
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=not self._sidecar.settings.authenticated,
            allowed_hosts=names,
            allowed_origins=[f"http://{name}" for name in names],
        )
        return StreamableHTTPSessionManager(
            make_server(SidecarDesk(sidecar=self._sidecar, late=self._late), caller_of=caller_of_request),
            security_settings=security,
            max_request_body_size=self._sidecar.settings.body_limit_bytes,
        )

    async def _run(self, manager: StreamableHTTPSessionManager, running: asyncio.Event) -> None:
        # In a task of its own: the manager's task group must be left where it was entered.
        async with manager.run():
            running.set()
            await self._stop.wait()


@dataclass(frozen=True, slots=True)
class _State:
    """The state of a request, by its scope."""

    scope: Scope

    @property
    def principal(self) -> Any:
        return self.scope.get("state", {}).get("principal")


def caller_of_request(context: Any) -> Caller:
    """Return who sent a message: the principal of its credentials, the session of its headers."""
    from toolsearch.serve.mcp.verbs import Caller

    request = context.request
    session = request.headers.get(SESSION_HEADER) or request.headers.get(_TRANSPORT_SESSION_HEADER)
    return Caller(principal=principal_of_state(request.state), session=session)


def _owner(principal: Principal) -> Any:
    """Return a principal as the package knows owners of sessions: to others a session does not exist."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    mark = hashlib.sha256(principal.model_dump_json().encode()).hexdigest()
    return AuthenticatedUser(AccessToken(token="", client_id=mark, scopes=[], subject=principal.subject))


def _import() -> None:
    with contextlib.suppress(ImportError):
        import toolsearch.serve.mcp.server  # noqa: F401 - the import itself is what takes its time
