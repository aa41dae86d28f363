"""Where the principal of a request comes from: an API key or a verified token, never the body or a header field.

The body of a request can only narrow what its principal may see (`restrict`). Where no credentials are configured the
server binds to loopback only, and every request runs as `local_principal` of the settings: whoever can reach loopback
owns the machine and with it the index folder.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime

from toolsearch import Principal
from toolsearch.model.errors import AuthenticationError, PolicyError
from toolsearch.serve.access_tokens import TokenVerifier
from toolsearch.serve.keys import KeyEntry, find_key, read_keys
from toolsearch.serve.settings import ADMIN_ROLE, Settings

_HOW = "send 'Authorization: Bearer <API key or token>' or 'X-API-Key: <API key>'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticator:
    """Decides on whose behalf a request runs.

    Attributes:
        keys: Entries of the keys file.
        tokens: Verifier of JWTs, or None where none are accepted.
        local: Principal of every request where neither is configured, else None.
    """

    keys: tuple[KeyEntry, ...] = ()
    tokens: TokenVerifier | None = None
    local: Principal | None = None

    def principal(self, *, authorization: str | None, api_key: str | None, now: datetime) -> Principal:
        """Return the principal that the credentials prove.

        Raises:
            AuthenticationError: If credentials are missing, of an unknown kind, expired or wrong.
        """
        if self.local is not None:
            return self.local
        if api_key is not None:
            return self._by_key(api_key, now=now)
        if authorization is None:
            raise AuthenticationError(f"no credentials; {_HOW}")
        scheme, _, credential = authorization.partition(" ")
        if scheme.lower() != "bearer" or not credential.strip():
            raise AuthenticationError(f"the Authorization header is not 'Bearer <credential>'; {_HOW}")
        credential = credential.strip()
        if self.tokens is not None and credential.count(".") == 2:
            return self.tokens.principal(credential)
        return self._by_key(credential, now=now)

    def _by_key(self, key: str, *, now: datetime) -> Principal:
        found = find_key(key, entries=self.keys)
        if found is None:
            raise AuthenticationError(f"the API key is not known to this server; {_HOW}")
        if found.expires is not None and found.expires <= now:
            raise AuthenticationError("the API key has expired; ask the operator for a new one")
        return found.principal


def authenticator(settings: Settings) -> Authenticator:
    """Build the authenticator that the settings describe, reading the key files once.

    Raises:
        PolicyError: If a key file or token setting is missing or wrong, or the server would be open to a network
            without credentials.
    """
    if not settings.jwt_algorithms and (settings.jwt_issuer or settings.jwt_audience or settings.jwt_secret):
        raise PolicyError('token settings without TOOLSEARCH_JWT_ALGORITHMS accept no token; set it, e.g. ["HS256"]')
    if not settings.authenticated:
        require_loopback(settings.host)
        return Authenticator(local=settings.local_principal)
    keys = read_keys(settings.api_keys_file) if settings.api_keys_file else ()
    return Authenticator(keys=keys, tokens=TokenVerifier.of(settings) if settings.jwt_algorithms else None)


def require_loopback(host: str) -> None:
    """Refuse an address that others can reach.

    Raises:
        PolicyError: If the host is not a loopback address.
    """
    if not is_loopback(host):
        raise PolicyError(
            f"refusing to bind {host} without authentication: set TOOLSEARCH_API_KEYS_FILE (make a key with "
            "`toolsearch key`) or TOOLSEARCH_JWT_ALGORITHMS with its key, or bind 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address can only be reached from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def require_role(principal: Principal, *roles: str) -> None:
    """Let a call pass only for a principal with one of the roles.

    Raises:
        PolicyError: If the principal has none of them.
    """
    if not set(roles) & set(principal.roles):
        raise PolicyError(f"this call needs the role {' or '.join(roles)}; the credentials do not carry it")


def require_admin(principal: Principal) -> None:
    """Let a call pass only for an administrator.

    Raises:
        PolicyError: If the principal lacks the administrator's role.
    """
    require_role(principal, ADMIN_ROLE)


def utc_now() -> datetime:
    """Return the clock at the edge, as the core never reads one."""
    return datetime.now(UTC)
