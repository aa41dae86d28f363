"""Imports and their sources behind a running server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import TypeAdapter

from toolsearch.calls.importing import ImportReport, Reading
from toolsearch.store.sources import SourceRow

_SOURCES = TypeAdapter(tuple[SourceRow, ...])
_BODY_BYTES = 16_000_000
"""Readings in one body: far below the default limit on uploads. One server is never split."""


class RemoteImporting:
    """What `RemoteIndex` has of imports."""

    def send(self, method: str, path: str, body: str | None = None) -> bytes:
        """Send one request; `RemoteIndex` does."""
        raise NotImplementedError

    def import_readings(self, readings: Sequence[Reading]) -> ImportReport:
        """Have the server bring its index to what was read here."""
        bodies = _bodies(readings)
        reports = [ImportReport.model_validate_json(self.send("POST", "/v1/tools:import", body)) for body in bodies]
        return ImportReport(
            servers=tuple(server for report in reports for server in report.servers),
            refused=tuple(refusal for report in reports for refusal in report.refused),
            generation=max((report.generation for report in reports), default=0),
            contracts=sum(report.contracts for report in reports),
            indexing_s=sum(report.indexing_s for report in reports),
        )

    def sources(self) -> tuple[SourceRow, ...]:
        """Return where the tools of each imported server were last read."""
        return _SOURCES.validate_json(self.send("GET", "/v1/sources"))


def _bodies(readings: Sequence[Reading]) -> Iterator[str]:
    part: list[str] = []
    for reading in readings:
        text = reading.model_dump_json(by_alias=True)
        if part and sum(map(len, part)) + len(text) > _BODY_BYTES:
            yield f'{{"readings":[{",".join(part)}]}}'
            part = []
        part.append(text)
    if part:
        yield f'{{"readings":[{",".join(part)}]}}'
