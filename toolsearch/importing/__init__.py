"""The import job: sources -> contracts -> the index, each server replaced as a whole, never merged."""

from toolsearch.importing.job import apply_import, import_readings, import_sources, run_import
from toolsearch.importing.reading import Reading, read_sources
from toolsearch.importing.report import ImportReport, Refusal, ServerReport
from toolsearch.importing.sources import DataSource, FileSource, ServerSource, Source, sources_from

__all__ = [
    "DataSource",
    "FileSource",
    "ImportReport",
    "Reading",
    "Refusal",
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
