"""The import job: sources -> contracts -> the index, each server replaced as a whole, never merged."""

from toolsearch.calls.importing.job import apply_import, import_readings, import_sources, run_import
from toolsearch.calls.importing.reading import Reading, read_sources
from toolsearch.calls.importing.report import ImportReport, RefusedTool, ServerReport
from toolsearch.calls.importing.sources import DataSource, FileSource, ServerSource, Source, sources_from

__all__ = [
    "DataSource",
    "FileSource",
    "ImportReport",
    "Reading",
    "RefusedTool",
    "ServerReport",
    "ServerSource",
    "Source",
    "apply_import",
    "import_readings",
    "import_sources",
    "read_sources",
    "run_import",
    "sources_from",
]
