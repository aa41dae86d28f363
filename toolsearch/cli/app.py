"""The `toolsearch` command: what every command shares, and the list of commands.

Exit codes: 0 an answer was given (also "no tool fits"), 2 wrong usage, 3 a ToolSearchError, 130 interrupted.
Heavy modules are imported inside the commands, so that `toolsearch --help` is quick.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from toolsearch import __version__
from toolsearch.cli.approve import approve
from toolsearch.cli.bench import bench
from toolsearch.cli.decisions import decisions
from toolsearch.cli.diff import diff
from toolsearch.cli.enrich import enrich
from toolsearch.cli.eval import eval_cases
from toolsearch.cli.explain import explain
from toolsearch.cli.export import export
from toolsearch.cli.forget import forget
from toolsearch.cli.history import history
from toolsearch.cli.importing import import_command
from toolsearch.cli.index import index
from toolsearch.cli.key import key
from toolsearch.cli.learn import learn
from toolsearch.cli.lint import lint
from toolsearch.cli.mcp import mcp
from toolsearch.cli.models import models
from toolsearch.cli.outcomes import outcomes
from toolsearch.cli.pending import pending
from toolsearch.cli.prepare import prepare
from toolsearch.cli.reject import reject
from toolsearch.cli.remove import remove
from toolsearch.cli.rollback import rollback
from toolsearch.cli.search import search
from toolsearch.cli.serve import serve
from toolsearch.cli.sessions import sessions
from toolsearch.cli.sources import sources
from toolsearch.cli.tools import tools
from toolsearch.cli.train import train
from toolsearch.cli.tune import tune
from toolsearch.cli.why_not import why_not
from toolsearch.model.errors import ToolSearchError

EXIT_REFUSED = 3
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="toolsearch",
    help="Tools for a request: permitted, ranked, explained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _command in (index, search, explain, why_not, tools, remove, outcomes, learn, forget, decisions, serve, bench, key):
    app.command()(_command)
app.command("eval")(eval_cases)
app.command("import")(import_command)
app.command()(sources)
app.command()(tune)
app.command()(train)
app.command()(models)
app.command()(export)
app.command()(lint)
app.command()(prepare)
app.command()(mcp)
app.command()(enrich)
app.command()(sessions)
app.command()(diff)
app.command()(history)
app.command()(pending)
app.command()(approve)
app.command()(reject)
app.command()(rollback)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"toolsearch {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def _speak_any_language() -> None:
    """Escape what a terminal's encoding cannot show instead of failing on it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Args:
        arguments: Words after the program's name; None takes those of the process.
    """
    _speak_any_language()
    try:
        app(args=list(arguments) if arguments is not None else None, prog_name="toolsearch")
    except ToolSearchError as error:
        from toolsearch.cli.render import one_line

        print(f"error: {one_line(str(error))}", file=sys.stderr)
        sys.exit(EXIT_REFUSED)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader, e.g. `head`, has seen enough
        sys.stderr.close()
        sys.exit(0)
