"""Manifest: what a snapshot folder holds, by whom it was made, and the checksum of every byte.

`manifest.json` is `{"sha256": ..., "manifest": {...}}`, the checksum being that of the inner text; this envelope is
the same in every format version, so a damaged manifest and a foreign one are told apart.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

from pydantic import Field, StringConstraints, ValidationError

from toolsearch.model.contract import Frozen
from toolsearch.model.errors import AnalyzerMismatch, EncoderMismatch, IndexCorrupt, IndexFormatMismatch
from toolsearch.model.limits import FORMAT_VERSION, Bm25Parameters
from toolsearch.text.embed.protocol import EncoderInfo

MANIFEST_NAME = "manifest.json"

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]


class FileEntry(Frozen):
    """One file of the folder."""

    bytes: Count
    sha256: Sha256


class EncoderIdentity(Frozen):
    """Which encoder made the vectors."""

    id: str
    sha256: str
    dim: int = Field(ge=1, le=65_536)

    @classmethod
    def of(cls, info: EncoderInfo) -> EncoderIdentity:
        """Return the identity of an encoder."""
        return cls(id=info.id, sha256=info.sha256, dim=info.dim)


class LexicalParameters(Frozen):
    """The BM25 parameters the postings were made with; the order of the fields counts."""

    k1: float = Field(gt=0)
    b: float = Field(ge=0, le=1)
    fields: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, parameters: Bm25Parameters) -> LexicalParameters:
        """Return the parameters as stored."""
        return cls(k1=parameters.k1, b=parameters.b, fields=tuple(parameters.fields.items()))

    def parameters(self) -> Bm25Parameters:
        """Return the parameters as used."""
        return Bm25Parameters(k1=self.k1, b=self.b, fields=dict(self.fields))


class Counts(Frozen):
    """Sizes of a snapshot."""

    tools: Count
    contract_vectors: Count
    example_vectors: Count
    negative_vectors: Count
    tokens: Count


class Manifest(Frozen):
    """What a snapshot folder holds. Equal content gives equal bytes: no clock, no path."""

    format_version: int
    generation: Count
    analyzer: str
    encoder: EncoderIdentity
    lexical: LexicalParameters
    counts: Counts
    files: dict[str, FileEntry]

    def check_analyzer(self, analyzer: str, *, rebuild: str) -> None:
        """Raise AnalyzerMismatch if the postings were tokenised otherwise."""
        if self.analyzer != analyzer:
            raise AnalyzerMismatch(
                f"the snapshot was tokenised by {self.analyzer}, this program has {analyzer}; run `{rebuild}`",
                found=self.analyzer,
                expected=analyzer,
            )

    def check_encoder(self, encoder: EncoderInfo, *, rebuild: str) -> None:
        """Raise EncoderMismatch if the vectors were made by another encoder, or by other weights of the same name."""
        expected = EncoderIdentity.of(encoder)
        if self.encoder != expected:
            raise EncoderMismatch(
                f"the snapshot was embedded by {_described(self.encoder)}, the encoder given is "
                f"{_described(expected)}; run `{rebuild}`, or open it with the encoder it was made with",
                found=_described(self.encoder),
                expected=_described(expected),
            )


def _described(encoder: EncoderIdentity) -> str:
    return f"{encoder.id} (dim {encoder.dim}, sha256 {encoder.sha256[:12]})"


def seal(manifest: Manifest) -> bytes:
    """Return the bytes of manifest.json."""
    body = manifest.model_dump(mode="json")
    envelope = {"sha256": _checksum(body), "manifest": body}
    return (json.dumps(envelope, ensure_ascii=False, indent=1) + "\n").encode()


def unseal(data: bytes, *, rebuild: str) -> Manifest:
    """Read the bytes of manifest.json.

    Args:
        data: The whole file.
        rebuild: The command to name as the next step.

    Raises:
        IndexCorrupt: If a byte that matters is not as it was written.
        IndexFormatMismatch: If it is whole, but of another format version.
    """
    try:
        envelope = json.loads(data)
        body, expected = envelope["manifest"], envelope["sha256"]
        found = _checksum(body)
        version = body["format_version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise IndexCorrupt(f"{MANIFEST_NAME} is not readable; run `{rebuild}`") from None
    if found != expected:
        raise IndexCorrupt(
            f"{MANIFEST_NAME} does not match its checksum; run `{rebuild}`", found=found, expected=str(expected)[:64]
        )
    if version != FORMAT_VERSION:
        raise IndexFormatMismatch(
            f"the snapshot has format {version!r:.40}, this program reads format {FORMAT_VERSION}; run `{rebuild}`",
            found=f"{version!r:.40}",
            expected=str(FORMAT_VERSION),
        )
    try:
        return Manifest.model_validate(body)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        raise IndexCorrupt(f"{MANIFEST_NAME}: {place}: {problem['msg']}; run `{rebuild}`") from None


def _checksum(body: object) -> str:
    text = json.dumps(body, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
