"""Outside formats -> ToolContract: one reader a file, `enrich` for what prose and hints say, `read_path` for all."""

from toolsearch.contracts.read.contracts import dump_contract
from toolsearch.contracts.read.reader import ReadReport, load_contracts, read_data, read_path

__all__ = ["ReadReport", "dump_contract", "load_contracts", "read_data", "read_path"]
