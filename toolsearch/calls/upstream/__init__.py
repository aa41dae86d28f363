"""MCP servers that tools come from: who they are (`config`), a connection (`connect`), their list (`listing`, `watch`).

`config` needs no package; the others need the extra `[mcp]` and are imported where they are used.
"""

from toolsearch.calls.upstream.config import ConfigReport, http_server, is_config, read_config, read_config_data
from toolsearch.calls.upstream.server import UpstreamServer

__all__ = ["ConfigReport", "UpstreamServer", "http_server", "is_config", "read_config", "read_config_data"]
