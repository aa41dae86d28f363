"""ToolContract -> the definition a model or harness reads, in the shape its provider wants."""

from toolsearch.export.names import api_names, refs_by_api_name
from toolsearch.export.shapes import definition
from toolsearch.export.tokens import definition_tokens, estimate_tokens, json_tokens

__all__ = ["api_names", "definition", "definition_tokens", "estimate_tokens", "json_tokens", "refs_by_api_name"]
