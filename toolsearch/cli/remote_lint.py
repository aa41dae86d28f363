"""Lint of an index behind a server."""

from __future__ import annotations

from urllib.parse import urlencode

from toolsearch.contracts.lint.check import LintOptions
from toolsearch.contracts.lint.finding import LintReport
from toolsearch.model.request import Principal


class RemoteLint:
    """What `RemoteIndex` has of `ToolIndex.lint`."""

    def send(self, method: str, path: str, body: str | None = None) -> bytes:
        """Send one request; `RemoteIndex` does."""
        raise NotImplementedError

    def lint(self, *, principal: Principal, options: LintOptions | None = None) -> LintReport:
        """Return what is to be mended in the visible tools; other severities are set here."""
        chosen = options or LintOptions()
        query = urlencode(
            [*(("select", name) for name in chosen.select), *(("ignore", name) for name in chosen.ignore)]
        )
        report = LintReport.model_validate_json(self.send("GET", f"/v1/lint{'?' if query else ''}{query}"))
        severities = {rule.id: severity for rule, severity in chosen.rules()}
        findings = (one.model_copy(update={"severity": severities[one.rule]}) for one in report.findings)
        return report.model_copy(update={"findings": tuple(findings)})
