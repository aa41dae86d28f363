"""What the writer of one definition is given, and where it notes what the definition does not say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from toolsearch.contracts.export.accepted import with_items, without_root_choice
from toolsearch.contracts.export.limits import LIMITS
from toolsearch.contracts.export.losses import LossLog
from toolsearch.contracts.export.schemas import full_schema, signature_schema
from toolsearch.contracts.export.strict import strict_schema
from toolsearch.model.contract import ToolContract
from toolsearch.model.request import DefinitionFormat, Detail

OPEN = {"type": "object"}


@dataclass(slots=True, kw_only=True)
class Draft:
    """One definition in the making.

    Attributes:
        contract: The tool, naming only adjacent tools that may be named.
        format: Shape of the provider.
        detail: How much is handed out.
        api_name: Name under which the model calls it.
        description: What the model reads; writers of schemas may add sentences.
        strict: Strict mode is asked for.
        deferred: The definition is to be loaded by a tool search only.
        log: What is lost.
    """

    contract: ToolContract
    format: DefinitionFormat
    detail: Detail
    api_name: str
    description: str
    strict: bool = False
    deferred: bool = False
    log: LossLog = field(default_factory=LossLog)

    def schema(self) -> dict[str, Any]:
        """Return the input schema at this detail, as the provider takes it without strict mode."""
        if self.detail is Detail.NAME:
            return dict(OPEN)
        if self.detail is Detail.SIGNATURE:
            return signature_schema(self.contract)
        limits = LIMITS.get(self.format)
        made = full_schema(self.contract)
        if limits is not None and not limits.root_choice:
            made, sentences = without_root_choice(made, log=self.log)
            if made.get("type") != "object":
                made = {**made, "type": "object"}
            self.description = "\n".join([self.description, *sentences])
        if limits is not None and not limits.bare_arrays:
            made = with_items(made)
        return made

    def strict_or_not(self) -> tuple[dict[str, Any], bool]:
        """Return the input schema, strict where that is asked for and possible, and whether it is."""
        limits = LIMITS.get(self.format)
        subset = limits.strict if limits is not None else None
        schema = self.schema()
        if not self.strict or subset is None:
            return schema, False
        made = strict_schema(schema, subset=subset)
        for loss in made.lost:
            self.log.add(loss.path, loss.kind, loss.text)
        return (schema, False) if made.schema is None else (made.schema, True)

    def output_schema(self) -> dict[str, Any] | None:
        """Return the schema of the result where it is an object's and this is the full definition."""
        schema = self.contract.output.schema_
        if self.detail is not Detail.FULL or not isinstance(schema, dict) or schema.get("type") != "object":
            return None
        return schema
