"""What a name speaks of: a ref, `server/name`, a name only one visible tool has, or the one a model calls it by."""

from __future__ import annotations

from toolsearch.engine.state import Catalogue
from toolsearch.model.errors import RequestError, UnknownTool


def find_tool(name: str, *, catalogue: Catalogue) -> int:
    """Return the DocId of the visible tool that a name speaks of.

    Args:
        name: `server/name@version`, `server/name`, a name, or a provider-safe name.
        catalogue: The visible view.

    Raises:
        UnknownTool: If no visible tool is meant; the message is the same for hidden and absent tools.
        RequestError: If several visible tools have that name.
    """
    state, docs = catalogue.state, catalogue.view.docs
    try:
        return state.resolve(name, docs=docs)
    except (UnknownTool, RequestError):
        for ref, given in state.names_of(catalogue.view).items():
            if given == name:
                return state.resolve(str(ref), docs=docs)
        raise
