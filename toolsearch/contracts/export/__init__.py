"""ToolContract -> the definition a model or harness reads, in the shape its provider wants."""

from toolsearch.contracts.export.arguments import without_nulls
from toolsearch.contracts.export.losses import Exported, ExportedTools, Loss, LossKind
from toolsearch.contracts.export.names import api_names, refs_by_api_name
from toolsearch.contracts.export.shapes import definition, export
from toolsearch.contracts.export.token_count import definition_tokens, estimate_tokens, json_tokens

__all__ = [
    "Exported",
    "ExportedTools",
    "Loss",
    "LossKind",
    "api_names",
    "definition",
    "definition_tokens",
    "estimate_tokens",
    "export",
    "json_tokens",
    "refs_by_api_name",
    "without_nulls",
]
