"""Every error that toolsearch raises on purpose, named by what the caller must do.

```
ToolSearchError                one base to catch
  ContractError                the tool description is wrong: fix the source    (.source, .path, .hint)
    UnsupportedFormat          no reader knows this file
    UnresolvedReference        a $ref leads nowhere, or out of its document
  RequestError                 the request is wrong: change the request         (.field)
  UnknownTool                  no such tool for this principal, or at all: the two are not told apart
  UnknownTrace                 no decision record under this trace_id for this principal
  UnknownSession               no open session under this id for this principal: open one
  AuthenticationError          the credentials are missing or wrong: send valid ones
  PolicyError                  the rules are wrong: an administrator must act   (never carries a tool name)
  ModelRefused                 a learnt model does not win or does not fit: use more of the log, or train again
  IndexStateError              the index does not fit this program              (.found, .expected)
    IndexMissing               nothing is there: build it
    IndexFormatMismatch        written by another format version: rebuild it
    AnalyzerMismatch           tokenised by another analyzer: rebuild it
    EncoderMismatch            embedded by another model: rebuild it, or name that model
    IndexCorrupt               a file is damaged or missing: rebuild it
    IndexLocked                another process owns the registry: talk to it, or stop it
    IndexNotWritable           the disk is full or read-only: free space, or open it for reading only
  DataError                    evaluation data or a case file is wrong: fix the file  (.source, .line)
    DataRoleError              data that must not be learned from: choose train or dev data
  UpstreamError                a server that tools come from does not answer: start it, or mend it  (.server)
    UpstreamTimeout            it did not answer in time: wait longer, or look at it
  UpstreamConfigError          the list of such servers is wrong: fix the file  (.source, .path)
  ServerUnreachable            the toolsearch server does not answer: start it, wait, or mend the address  (.url)
  MissingExtraError            a package is missing: the message is the pip command
```

A message has the offending value, the limit and the next step. `code` is stable and machine-readable; `status` is
the HTTP status the sidecar answers with.
"""

from __future__ import annotations

from typing import ClassVar


class ToolSearchError(Exception):
    """Base of all errors raised on purpose."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500


class ContractError(ToolSearchError):
    """A tool description cannot be read; fix the source.

    Attributes:
        source: File name or label of the input, if known.
        path: Where in it: line and column, or a JSON pointer.
        hint: What to write instead, if that is known.
    """

    code = "contract_invalid"
    status = 422

    def __init__(self, message: str, *, source: str = "", path: str = "", hint: str = "") -> None:
        place = ":".join(part for part in (source, path) if part)
        text = f"{place}: {message}" if place else message
        super().__init__(f"{text} ({hint})" if hint else text)
        self.source, self.path, self.hint = source, path, hint


class UnsupportedFormat(ContractError):
    """No reader recognises the input."""

    code = "format_unsupported"


class UnresolvedReference(ContractError):
    """A `$ref` or schema name cannot be resolved inside its document."""

    code = "reference_unresolved"


class RequestError(ToolSearchError):
    """The request is malformed or out of limits; change the request.

    Attributes:
        field: The request field at fault, if one is.
    """

    code = "request_invalid"
    status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class UnknownTool(ToolSearchError):
    """The principal can see no tool of that name. Hidden and absent tools give the same error."""

    code = "tool_unknown"
    status = 404


class UnknownTrace(ToolSearchError):
    """The principal has no decision record under that trace_id."""

    code = "trace_unknown"
    status = 404


class UnknownSession(ToolSearchError):
    """The principal has no open session under that id: it never was, ended, expired, or is somebody else's."""

    code = "session_unknown"
    status = 404


class AuthenticationError(ToolSearchError):
    """Credentials are missing, expired or wrong; send valid ones."""

    code = "unauthenticated"
    status = 401


class PolicyError(ToolSearchError):
    """The access rules are wrong, or the caller lacks the role for this call. Never carries a tool name."""

    code = "policy_invalid"
    status = 403


class ModelRefused(ToolSearchError):
    """A learnt model is not installed: too small a log, no win on the hold-out, or another encoder."""

    code = "model_refused"
    status = 409


class IndexStateError(ToolSearchError):
    """The index on disk does not fit this program.

    Attributes:
        found: What is there.
        expected: What this program needs.
    """

    code = "index_unusable"
    status = 503

    def __init__(self, message: str, *, found: str = "", expected: str = "") -> None:
        super().__init__(message)
        self.found, self.expected = found, expected


class IndexMissing(IndexStateError):
    """There is no index at that path."""

    code = "index_missing"


class IndexFormatMismatch(IndexStateError):
    """The snapshot was written by another format version."""

    code = "index_format_mismatch"


class AnalyzerMismatch(IndexStateError):
    """The snapshot was tokenised by another analyzer version."""

    code = "index_analyzer_mismatch"


class EncoderMismatch(IndexStateError):
    """The snapshot was embedded by another encoder."""

    code = "index_encoder_mismatch"


class IndexCorrupt(IndexStateError):
    """A snapshot file is missing, truncated or fails its checksum."""

    code = "index_corrupt"


class IndexLocked(IndexStateError):
    """Another process owns the registry of this index."""

    code = "index_locked"


class IndexNotWritable(IndexStateError):
    """The disk is full or read-only; what is there is whole and can be read."""

    code = "index_not_writable"


class DataError(ToolSearchError):
    """Evaluation data, a run or a case file cannot be used as it is; fix the file.

    Attributes:
        source: File name or label of the input.
        line: Line in it, from 1; None where the file as a whole is meant.
    """

    code = "data_invalid"
    status = 422

    def __init__(self, message: str, *, source: str = "", line: int | None = None) -> None:
        place = ":".join(part for part in (source, "" if line is None else str(line)) if part)
        super().__init__(f"{place}: {message}" if place else message)
        self.source, self.line = source, line


class DataRoleError(DataError):
    """Data with the role `test` (or none that permits it) would be fitted on or chosen on."""

    code = "data_role_forbidden"


class UpstreamError(ToolSearchError):
    """A server that tools come from cannot be started or reached, or answers what it must not; start or mend it.

    The text never holds a value of its configuration.

    Attributes:
        server: Its name.
    """

    code = "upstream_failed"
    status = 502

    def __init__(self, message: str, *, server: str) -> None:
        super().__init__(f"server {server!r} {message}")
        self.server = server


class UpstreamTimeout(UpstreamError):
    """A server that tools come from did not answer in time."""

    code = "upstream_timeout"
    status = 504


class UpstreamConfigError(ToolSearchError):
    """The list of servers that tools come from is wrong; fix the file. The text never holds a value of it.

    Attributes:
        source: File name or label of the input.
        path: Where in it: a JSON pointer, or line and column.
    """

    code = "upstream_config_invalid"
    status = 422

    def __init__(self, message: str, *, source: str = "", path: str = "") -> None:
        place = ":".join(part for part in (source, path) if part)
        super().__init__(f"{place}: {message}" if place else message)
        self.source, self.path = source, path


class ServerUnreachable(ToolSearchError):
    """The toolsearch server does not answer: it does not run there, or not in time. Raised by the client.

    Attributes:
        url: Of the server.
    """

    code = "server_unreachable"
    status = 503

    def __init__(self, message: str, *, url: str) -> None:
        super().__init__(f"the server at {url} {message}")
        self.url = url


class MissingExtraError(ToolSearchError):
    """An optional package is not installed.

    Attributes:
        extra: The extra that brings it.
    """

    code = "extra_missing"
    status = 501

    def __init__(self, *, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'toolsearch[{extra}]'")
        self.extra = extra
