"""Sources -> readings: what each server has, or why that could not be read. Nothing is changed here."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from toolsearch.calls.importing.report import RefusedTool
from toolsearch.calls.importing.sources import DataSource, FileSource, ServerSource, Source, server_of_path
from toolsearch.contracts.enrich.foreign import clean_name
from toolsearch.contracts.read import ReadReport, read_data, read_path
from toolsearch.model.contract import Frozen, ToolContract, ToolRef
from toolsearch.model.errors import ContractError, MissingExtraError, UpstreamError

if TYPE_CHECKING:
    from toolsearch.calls.upstream.connect import Connector
    from toolsearch.calls.upstream.listing import Listing

AT_ONCE = 8
"""Servers that are started or reached at the same time."""

Progress = Callable[[str, int, int], None]
"""Called with (what is done, done, in all)."""

_ITEM = re.compile(r"/(\d+)(/|$)")


class Reading(Frozen):
    """What was read of one server."""

    server: str = Field(max_length=256, description="The server; empty for what belongs to none.")
    origin: str = Field(max_length=1024, description="Where from, without secrets; shown by `sources`.")
    title: str = Field(default="", max_length=256, description="Name and version the source gives itself; untrusted.")
    contracts: tuple[ToolContract, ...] = ()
    refused: tuple[RefusedTool, ...] = ()
    complete: bool = Field(
        default=True,
        description="Whether tools that are not among the contracts are gone; false where some were refused.",
    )
    keep: tuple[str, ...] = Field(default=(), description="Names of refused tools, which stay as they were.")
    error: str = Field(
        default="", max_length=2048, description="Why nothing could be read; the last tools stay, stale."
    )

    @model_validator(mode="after")
    def _of_one_server(self) -> Self:
        strangers = [str(contract.ref) for contract in self.contracts if contract.ref.server != self.server]
        if strangers:
            raise ValueError(f"{strangers[0]} is not of the server {self.server!r}")
        return self


async def read_sources(
    sources: Sequence[Source],
    *,
    trusted: bool = False,
    connector: Connector | None = None,
    timeout_s: float | None = None,
    progress: Progress | None = None,
) -> tuple[Reading, ...]:
    """Read sources; one reading for each server, sorted by server.

    Args:
        sources: What to read. Several may speak of one server; together they are what it has.
        trusted: Whether hints of foreign definitions may lower an assumed risk.
        connector: How to connect to servers; None = `connect`.
        timeout_s: Seconds to start or reach a server, and for its list; None = 30.
        progress: Called after each source.
    """
    places = asyncio.Semaphore(AT_ONCE)
    connector = connector or _connector(timeout_s, needed=any(isinstance(source, ServerSource) for source in sources))
    done = 0

    async def read(source: Source) -> tuple[Reading, ...]:
        nonlocal done
        if isinstance(source, ServerSource):
            async with places:
                found: tuple[Reading, ...] = (await read_server(source, connector=connector, trusted=trusted),)
        else:
            found = await asyncio.to_thread(_read_definitions, source, trusted=trusted)
        done += 1
        if progress is not None:
            progress("reading", done, len(sources))
        return found

    readings = [one for found in await asyncio.gather(*map(read, sources)) for one in found]
    return merged(readings)


async def read_server(source: ServerSource, *, connector: Connector, trusted: bool) -> Reading:
    """Return what a live server has; a failure is a reading too."""
    from toolsearch.calls.upstream.listing import list_tools

    try:
        async with connector(source.server) as connection:
            listing = await list_tools(connection)
    except UpstreamError as error:
        return Reading(server=source.server.name, origin=source.server.place[:1024], error=str(error)[:2048])
    return await asyncio.to_thread(reading_of, listing, origin=source.server.place[:1024], trusted=trusted)


def reading_of(listing: Listing, *, origin: str, trusted: bool) -> Reading:
    """Return the contracts of a listing. A refused definition keeps the tool that it would replace."""
    try:
        report = read_data(list(listing.tools), source=listing.server, server=listing.server, trusted=trusted)
    except ContractError as error:
        refused = (RefusedTool.of(error, source=listing.server),)
        return Reading(
            server=listing.server, origin=origin, title=listing.title, refused=refused, complete=not listing.tools
        )
    return Reading(
        server=listing.server,
        origin=origin,
        title=listing.title,
        # No definition of a server may speak for another one.
        contracts=tuple(contract for contract in report.contracts if contract.ref.server == listing.server),
        refused=tuple(map(RefusedTool.of, report.refused)),
        keep=tuple(sorted(set(_names(report.refused, listing.tools)))),
    )


def merged(readings: Iterable[Reading]) -> tuple[Reading, ...]:
    """Return one reading for each server: what several sources say of it, taken together."""
    found: dict[str, Reading] = {}
    for reading in readings:
        known = found.get(reading.server)
        found[reading.server] = reading if known is None else _together(known, reading)
    return tuple(found[server] for server in sorted(found))


def _together(first: Reading, second: Reading) -> Reading:
    contracts: dict[ToolRef, ToolContract] = {contract.ref: contract for contract in first.contracts}
    conflicts = []
    for contract in second.contracts:
        known = contracts.setdefault(contract.ref, contract)
        if known.fingerprint != contract.fingerprint:
            message = f"{contract.ref} is defined differently by {first.origin}"
            conflicts.append(RefusedTool(source=second.origin, message=message))
    return Reading(
        server=first.server,
        origin=first.origin if first.origin == second.origin else f"{first.origin}, {second.origin}"[:1024],
        title=first.title or second.title,
        contracts=tuple(contracts.values()),
        refused=(*first.refused, *second.refused, *conflicts),
        complete=first.complete and second.complete and not (first.error or second.error),
        keep=tuple(sorted({*first.keep, *second.keep})),
        error="" if contracts else first.error or second.error,
    )


def _read_definitions(source: FileSource | DataSource, *, trusted: bool) -> tuple[Reading, ...]:
    """Read a file, folder or data; one reading for each server in it, and one for what belongs to none."""
    if isinstance(source, DataSource):
        origin, server = source.label, source.server
        read: Callable[[], ReadReport] = partial(
            read_data, source.data, source=origin, server=server or "local", trusted=trusted
        )
    else:
        origin, server = str(source.path), source.server
        read = partial(read_path, source.path, server=server or server_of_path(source.path), trusted=trusted)
    try:
        report = read()
    except ContractError as error:
        return (Reading(server="", origin=origin, refused=(RefusedTool.of(error, source=origin),)),)
    by_server: dict[str, list[ToolContract]] = {} if server is None or report.refused else {server: []}
    for contract in report.contracts:
        by_server.setdefault(contract.ref.server, []).append(contract)
    readings = [
        Reading(server=name, origin=origin, contracts=tuple(contracts), complete=not report.refused)
        for name, contracts in by_server.items()
    ]
    if report.refused:
        refused = tuple(RefusedTool.of(error, source=origin) for error in report.refused)
        readings.append(Reading(server="", origin=origin, refused=refused))
    return tuple(readings)


def _names(refused: Iterable[ContractError], tools: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Yield the names of the definitions that were refused, by their place in the list."""
    for error in refused:
        at = _ITEM.match(error.path)
        name = tools[int(at[1])].get("name") if at is not None else None
        if isinstance(name, str):
            yield clean_name(name, default="_")


def _connector(timeout_s: float | None, *, needed: bool) -> Connector:
    """Return `connect` with its timeout; the package mcp is only needed for live servers.

    Raises:
        MissingExtraError: If it is needed and not installed.
    """
    if not needed:
        return _no_connection
    try:
        from toolsearch.calls.upstream.connect import TIMEOUT_S, connect
    except ImportError:
        raise MissingExtraError(package="mcp", extra="mcp") from None
    return partial(connect, timeout_s=timeout_s or TIMEOUT_S)


def _no_connection(server: object) -> Any:
    raise AssertionError("there is no live server among the sources")
