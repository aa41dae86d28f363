"""`toolsearch serve`: the HTTP sidecar."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    index: Annotated[
        Path | None, typer.Argument(help="Folder of the index [setting: index].", show_default=False)
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to bind.", show_default=False)] = None,
    port: Annotated[int | None, typer.Option(help="Port to bind; 0 takes any.", show_default=False)] = None,
    api_keys_file: Annotated[Path | None, typer.Option(help="File of API keys.", show_default=False)] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file of settings.", show_default=False)] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.", show_default=False)] = None,
) -> None:
    """Serve an index over HTTP; docs/configuration.md lists the settings that have no flag."""
    from toolsearch.model.errors import MissingExtraError
    from toolsearch.serve.settings import load_settings

    settings = load_settings(
        index=index, host=host, port=port, api_keys_file=api_keys_file, config=config, log_level=log_level
    )
    try:
        from toolsearch.serve.http.page import example_request
        from toolsearch.serve.run import run_server
    except ImportError as error:
        raise MissingExtraError(package=error.name or "fastapi", extra="serve") from None

    def announce(url: str, text: str) -> None:
        print(f"toolsearch serves {settings.index} at {url} (stop with Ctrl-C). Try:\n", flush=True)
        print(f"  {example_request(url, authenticated=settings.authenticated, text=text)}\n", flush=True)

    run_server(settings, announce=announce)
