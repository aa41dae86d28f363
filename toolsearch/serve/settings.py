"""Settings of the sidecar and the command line, built once at the edge; the core takes values and reads nothing.

Order of strength: command-line flags, then environment variables `TOOLSEARCH_*`, then the TOML file named by `--config`
or `TOOLSEARCH_CONFIG`, then the defaults below. No file is read unless it is named.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from toolsearch import Principal
from toolsearch.model.errors import RequestError
from toolsearch.model.limits import SearchLimits, SessionLimits

if TYPE_CHECKING:
    from toolsearch.calls.gateway.limits import GatewayLimits

ADMIN_ROLE = "toolsearch-admin"
"""Role that may change the catalogue and its rules, and ask `why-not`."""

METRICS_ROLE = "toolsearch-metrics"
"""Role that may read `/metrics`, whose gauges count the whole catalogue; administrators may too."""


class JwtClaims(BaseModel):
    """Which claim of a token says what; a dotted name reaches into nested claims."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: str = "sub"
    tenant: str = "tenant"
    environment: str = "environment"
    roles: str = "roles"
    scopes: str = "scope"


class Settings(BaseSettings):
    """Everything that can be set. Documented one by one in docs/configuration.md (tested)."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix="TOOLSEARCH_", env_nested_delimiter="__", env_ignore_empty=True
    )

    config: Path | None = Field(default=None, description="TOML file with settings; it must exist if named.")
    index: Path = Field(default=Path("indexes/starter"), description="Folder of the index.")
    host: str = Field(default="127.0.0.1", description="Address to bind; other than loopback needs credentials.")
    port: int = Field(default=8765, ge=0, le=65_535, description="Port to bind; 0 takes any free one.")
    api_keys_file: Path | None = Field(
        default=None, description="YAML or JSON file of API keys: sha256 of each key, and its principal."
    )
    jwt_algorithms: tuple[Literal["HS256", "RS256", "ES256"], ...] = Field(
        default=(), description="Signature algorithms to accept; empty: no tokens are accepted."
    )
    jwt_secret: SecretStr | None = Field(
        default=None,
        description="Shared secret for HS256, at least 32 bytes; no flag, so that no process list shows it.",
    )
    jwt_public_key_file: Path | None = Field(default=None, description="PEM public key for RS256 or ES256.")
    jwt_jwks_file: Path | None = Field(
        default=None, description="JWKS file of public keys for RS256 or ES256, chosen by the token's `kid`."
    )
    jwt_issuer: str | None = Field(default=None, description="Required `iss` claim.")
    jwt_audience: str | None = Field(default=None, description="Required `aud` claim.")
    jwt_leeway_s: int = Field(
        default=30, ge=0, le=600, description="Seconds of clock difference allowed in `exp`, `nbf` and `iat`."
    )
    jwt_claims: JwtClaims = Field(default=JwtClaims(), description="Names of the claims that become the principal.")
    local_principal: Principal = Field(
        default=Principal(subject="local", roles=(ADMIN_ROLE,)),
        description="Who asks, where no credentials are configured: the owner of the machine, on loopback only.",
    )
    remember_requests: bool = Field(
        default=True, description="Learn from requests whose tools succeeded, which keeps their text in the index."
    )
    reranker: str | None = Field(
        default=None, description="Reads the best tools together with the request: `st:` and a folder or hub name."
    )
    rerank_top: int = Field(default=20, ge=1, le=100, description="Tools that `reranker` reads for a request.")
    session_idle_s: int = Field(
        default=86_400, ge=1, le=31_536_000, description="Seconds without use after which a session expires."
    )
    sessions_per_principal: int = Field(
        default=1_000,
        ge=1,
        le=1_000_000,
        description="Sessions of one principal; a new one beyond that ends the one idle longest.",
    )
    body_limit_bytes: int = Field(default=1_048_576, ge=1_024, le=67_108_864, description="Largest request body.")
    upload_limit_bytes: int = Field(
        default=67_108_864,
        ge=1_024,
        le=1_073_741_824,
        description="Largest body of an administrator that brings tools.",
    )
    request_timeout_s: float = Field(
        default=10.0, gt=0, le=600, description="Seconds until a request is answered with 503."
    )
    upload_timeout_s: float = Field(
        default=300.0, gt=0, le=3_600, description="The same for the calls that change the catalogue."
    )
    mcp_config: Path | None = Field(
        default=None,
        description="JSON file of MCP servers (`mcpServers`) whose tools are kept up to date while serving.",
    )
    mcp_allow_private: bool = Field(
        default=False, description="Let the URLs in `mcp_config` lead into private networks."
    )
    import_servers: tuple[str, ...] = Field(
        default=(), description="Names of servers in `mcp_config` that `POST /v1/tools:import` may import by name."
    )
    import_timeout_s: float = Field(
        default=30.0, gt=0, le=600, description="Seconds to start or reach an MCP server, and for its list of tools."
    )
    serve_mcp: bool | None = Field(
        default=None, description="Answer MCP at `/mcp`; none: where the package mcp is installed."
    )
    gateway_timeout_s: float = Field(
        default=60.0, gt=0, le=600, description="Seconds for a forwarded call whose contract names no time."
    )
    gateway_result_tokens: int = Field(
        default=4_000, ge=16, le=1_000_000, description="Estimated tokens of a result that are returned at once."
    )
    gateway_connections: int = Field(
        default=64, ge=1, le=10_000, description="Open connections to MCP servers, of all principals together."
    )
    gateway_idle_s: float = Field(
        default=900.0, gt=0, le=86_400, description="Seconds without a call after which such a connection is closed."
    )
    gateway_secret: SecretStr | None = Field(
        default=None,
        description="Signs confirmations of writes, at least 32 bytes; none: they end with the process. No flag.",
    )
    workers: int = Field(default=4, ge=1, le=64, description="Requests computed at the same time.")
    queue: int = Field(
        default=64, ge=0, le=10_000, description="Requests that may wait for a worker; more get 503 at once."
    )
    shutdown_grace_s: int = Field(
        default=10, ge=0, le=600, description="Seconds that running requests get when the server stops."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe log line written to standard error."
    )

    @property
    def search_limits(self) -> SearchLimits:
        """Return the sizes and floors of a search."""
        return SearchLimits(rerank_top=self.rerank_top)

    @property
    def session_limits(self) -> SessionLimits:
        """Return how long sessions live and how many there are."""
        return SessionLimits(idle_s=self.session_idle_s, per_principal=self.sessions_per_principal)

    @property
    def gateway_limits(self) -> GatewayLimits:
        """Return the bounds of the gateway."""
        from toolsearch.calls.gateway.limits import GatewayLimits  # here: the gateway is heavier than the settings

        return GatewayLimits(
            connect_s=self.import_timeout_s,
            call_s=self.gateway_timeout_s,
            result_tokens=self.gateway_result_tokens,
            connections=self.gateway_connections,
            connections_per_principal=min(self.gateway_connections, GatewayLimits().connections_per_principal),
            idle_s=self.gateway_idle_s,
        )

    @property
    def authenticated(self) -> bool:
        """Tell whether any kind of credentials is configured."""
        return self.api_keys_file is not None or bool(self.jwt_algorithms)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return flags, environment, the named TOML file; .env and secret folders are not read."""
        named = init_settings().get("config") or os.environ.get("TOOLSEARCH_CONFIG")
        table = _toml_table(Path(named)) if named else {}
        return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=table)


def load_settings(**flags: Any) -> Settings:
    """Return the settings of this process.

    Args:
        **flags: Values from the command line by setting name; None means not given.

    Raises:
        RequestError: If a value is out of range, a key is unknown, or the named file cannot be read.
    """
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise RequestError(f"setting {name}: {first['msg']}{_nearest(name)}", field=name) from None
    except SettingsError as error:
        raise RequestError(f'{error}; lists and tables are JSON in a variable, e.g. ["RS256"]') from None


def _nearest(name: str) -> str:
    if name.split(".")[0] in Settings.model_fields:
        return ""
    close = difflib.get_close_matches(name, Settings.model_fields, n=1)
    return f"; did you mean {close[0]}?" if close else "; docs/configuration.md lists all settings"


def _toml_table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RequestError(f"settings file {path}: {error.strerror or error}", field="config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RequestError(f"settings file {path} is not TOML: {error}", field="config") from None
