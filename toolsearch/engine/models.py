"""Models: what `toolsearch train` fitted, installed in an index; which one serves whom, and the way back.

A model is a document that never changes. Putting one into service and taking it out are notes in the registry, so a
restart finds the same model serving, and what served when can be told of any earlier moment.

Whom a model serves is written into it: the tenant whose log it was fitted on, or everybody where the operator said so.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AwareDatetime, Field, model_validator

from toolsearch.model.contract import Frozen
from toolsearch.model.errors import ModelRefused, RequestError
from toolsearch.model.request import Label, SignalName, WeightValue
from toolsearch.search.rank.tuned import UNTUNED, QueryMap, Tuned, TunedModel
from toolsearch.store.models import Activation, ModelRow
from toolsearch.store.registry import Registry
from toolsearch.text.embed.protocol import EncoderInfo

MAX_MODEL_CHARS = 1_000_000
"""Longest document of a model: below the default limit on HTTP bodies."""

_STORED = np.dtype("<f2")
"""How numbers of a map are stored: 11 bits are far finer than what a log can tell."""

Slot = tuple[bool, str | None]
"""Whom a model is for: (everybody, tenant). At most one serves each."""

FOR_ALL: Slot = (True, None)

Share = Annotated[float, Field(ge=0, le=1)]
Array = Annotated[str, Field(max_length=MAX_MODEL_CHARS, pattern=r"^[A-Za-z0-9+/]*={0,2}$")]


class Figures(Frozen):
    """How well requests of the hold-out were answered; each group of like requests counts once."""

    mrr: Share = Field(description="Mean of 1 / rank of the first right tool, 0 beyond rank 10.")
    recall_1: Share = Field(description="Share of the right tools that stood first.")
    recall_5: Share = Field(description="Share of the right tools among the first five.")


class ModelManifest(Frozen):
    """Where a model comes from and what it was worth on requests it had not seen."""

    encoder: str = Field(description="Id of the encoder; with another one the model is not used.")
    encoder_sha256: str
    analyzer: str
    tenant: Label | None = Field(default=None, description="Whose log it was fitted on; null = of those without one.")
    all_tenants: bool = Field(default=False, description="Whether it serves everybody, not that tenant alone.")
    created_at: AwareDatetime
    seed: int
    requests: int = Field(ge=0, description="Requests fitted to.")
    held_out: int = Field(ge=0, description="Requests held out.")
    tools: int = Field(ge=0, description="Tools that served them.")
    subjects: int = Field(ge=0, description="Subjects that asked them.")
    strength: float = Field(ge=0, description="Regularisation that was chosen; 0 = there is no map.")
    before: Figures
    after: Figures
    gain_low: float = Field(description="Lower end of the 95 % interval of the gain in MRR.")
    gain_high: float
    p_value: Share


class LearntModel(Frozen):
    """A model as it is stored, written to a file and sent."""

    format: Literal[1] = 1
    manifest: ModelManifest
    weights: dict[SignalName, WeightValue] = Field(default={}, description="Stand in for those of the profile.")
    dim: int = Field(ge=1, le=8_192)
    rank: int = Field(ge=0, le=8_192, description="0 = requests keep their vectors.")
    slope: float = Field(default=1.0, gt=0, le=100, description="Of the cosines of turned vectors.")
    offset: float = Field(default=0.0, ge=-100, le=100)
    left: Array = Field(default="", description="dim x rank numbers, float16, little-endian, base64.")
    right: Array = Field(default="", description="rank x dim numbers, likewise.")

    @model_validator(mode="after")
    def _whole(self) -> LearntModel:
        for name, text in (("left", self.left), ("right", self.right)):
            try:
                values = np.frombuffer(base64.b64decode(text, validate=True), dtype=_STORED)
            except ValueError as error:
                raise ValueError(f"{name} is no base64 of float16 numbers: {error}") from None
            if values.size != self.dim * self.rank or not np.isfinite(values).all():
                raise ValueError(f"{name} must hold {self.dim} x {self.rank} finite numbers, not {values.size}")
        return self

    @property
    def fingerprint(self) -> str:
        """Return the hex sha256 of everything but the moment it was made: the same fit has the same one."""
        body = self.model_dump(mode="json", exclude={"manifest": {"created_at"}})
        return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def ready(self) -> TunedModel:
        """Return the model made ready to search with."""
        if self.rank == 0:
            return TunedModel(weights=self.weights)
        left, right = (
            np.frombuffer(base64.b64decode(text), dtype=_STORED).astype(np.float64).reshape(shape)
            for text, shape in ((self.left, (self.dim, self.rank)), (self.right, (self.rank, self.dim)))
        )
        return TunedModel(QueryMap(left, right, self.slope, self.offset), self.weights)


class ModelEntry(Frozen):
    """One installed model."""

    number: int
    fingerprint: str
    active: bool = Field(description="Whether it is in service.")
    stale: bool = Field(description="Fitted for another encoder: not used, whatever `active` says.")
    installed_at: AwareDatetime
    weights: dict[SignalName, WeightValue]
    rank: int
    manifest: ModelManifest

    @property
    def slot(self) -> Slot:
        """Return whom the model is for."""
        return FOR_ALL if self.manifest.all_tenants else (False, self.manifest.tenant)

    @property
    def serves(self) -> str:
        """Say whom the model serves while it is in service."""
        if self.manifest.all_tenants:
            return "every tenant without a model of its own"
        return "those without a tenant" if self.manifest.tenant is None else f"tenant {self.manifest.tenant}"


class Models:
    """Owns the models of an index. Safe to share between threads."""

    def __init__(self, registry: Registry, *, encoder: EncoderInfo, publish: Callable[[Tuned], None]) -> None:
        """Serve nothing yet; `load` reads the registry.

        Args:
            registry: Where models are kept.
            encoder: Of the index.
            publish: Called with what serves, after each change.
        """
        self._registry, self._encoder, self._publish = registry, encoder, publish
        self._lock = threading.Lock()  # registry, what is known of it and what was published in step
        self._entries: dict[int, ModelEntry] = {}
        self._changes: tuple[Activation, ...] = ()

    def load(self) -> None:
        """Read the registry and publish what serves."""
        with self._lock:
            self._show()

    def list(self) -> tuple[ModelEntry, ...]:
        """Return the installed models, oldest first."""
        return tuple(self._entries.values())

    def document(self, number: int) -> LearntModel:
        """Return one installed model.

        Raises:
            RequestError: If there is none of that number.
        """
        for row in self._registry.models():
            if row.number == number:
                return LearntModel.model_validate_json(row.document)
        there = ", ".join(map(str, self._entries)) or "none"
        raise RequestError(f"there is no model {number}; installed: {there}", field="number")

    def install(self, model: LearntModel, *, activate: bool = True) -> ModelEntry:
        """Store a model, and by default put it into service. One that is installed already keeps its number.

        Raises:
            ModelRefused: If it was fitted for another encoder, or is too long.
        """
        self._require_fit(model)
        document = model.model_dump_json()
        if len(document) > MAX_MODEL_CHARS:
            raise ModelRefused(f"the model has {len(document)} characters, the limit is {MAX_MODEL_CHARS}")
        with self._lock:
            known = [entry.number for entry in self.list() if entry.fingerprint == model.fingerprint]
            number = known[0] if known else self._registry.add_model(document, at=_now())
            if activate:
                self._registry.activate_model(number, at=_now())
            self._show()
            return self._entries[number]

    def activate(self, number: int) -> ModelEntry:
        """Put a model into service for those it is for.

        Raises:
            RequestError: If there is none of that number.
            ModelRefused: If it was fitted for another encoder.
        """
        with self._lock:
            self._require_fit(self.document(number))
            self._registry.activate_model(number, at=_now())
            self._show()
            return self._entries[number]

    def rollback(self) -> ModelEntry | None:
        """Take the newest change of what serves back: what served before does so again.

        Returns:
            The model that serves in its place; None = none does, and requests are answered as if none had been learnt.

        Raises:
            RequestError: If there is nothing to take back.
        """
        with self._lock:
            standing = [change for change in self._changes if change.undone_at is None]
            if not standing:
                raise RequestError("no model is in service; `toolsearch train` fits one", field="rollback")
            newest = standing[-1]
            self._registry.undo_activation(newest.seq, at=_now())
            self._show()
            left = self._serving(standing[:-1]).get(self._entries[newest.number].slot)
            return None if left is None else self._entries[left]

    def served(self, *, tenant: str | None, at: datetime) -> ModelEntry | None:
        """Return the model that served a tenant at a moment, or None."""
        standing = [
            change
            for change in self._changes
            if change.activated_at <= at and (change.undone_at is None or change.undone_at > at)
        ]
        serving = {slot: number for slot, number in self._serving(standing).items() if not self._entries[number].stale}
        number = serving.get((False, tenant)) or serving.get(FOR_ALL)
        return None if number is None else self._entries[number]

    def notes(self) -> tuple[str, ...]:
        """Return a sentence for each model in service."""
        return tuple(
            f"model {entry.number} is not used: it was fitted for encoder {entry.manifest.encoder!r}, the index has "
            f"{self._encoder.id!r}; train again"
            if entry.stale
            else f"model {entry.number} ({entry.fingerprint[:12]}) serves {entry.serves}"
            for entry in self.list()
            if entry.active
        )

    def _show(self) -> None:
        """Read the registry, and publish what serves."""
        models = {row.number: (row, LearntModel.model_validate_json(row.document)) for row in self._registry.models()}
        self._changes = tuple(self._registry.activations())
        self._entries = {number: self._entry(row, model) for number, (row, model) in models.items()}
        serving = self._serving([change for change in self._changes if change.undone_at is None])
        active = set(serving.values())
        self._entries = {
            number: entry.model_copy(update={"active": number in active}) for number, entry in self._entries.items()
        }
        ready = {slot: models[number][1].ready() for slot, number in serving.items() if not self._entries[number].stale}
        own = {tenant: model for (for_all, tenant), model in ready.items() if not for_all}
        self._publish(Tuned(own, ready.get(FOR_ALL, UNTUNED)))

    def _serving(self, standing: Sequence[Activation]) -> dict[Slot, int]:
        """Return whom -> the number of the newest of some changes, given oldest first."""
        return {self._entries[change.number].slot: change.number for change in standing}

    def _entry(self, row: ModelRow, model: LearntModel) -> ModelEntry:
        return ModelEntry(
            number=row.number,
            fingerprint=model.fingerprint,
            active=False,
            stale=not self._fits(model),
            installed_at=row.installed_at,
            weights=model.weights,
            rank=model.rank,
            manifest=model.manifest,
        )

    def _fits(self, model: LearntModel) -> bool:
        fitted = (model.manifest.encoder, model.manifest.encoder_sha256, model.dim)
        return fitted == (self._encoder.id, self._encoder.sha256, self._encoder.dim)

    def _require_fit(self, model: LearntModel) -> None:
        if not self._fits(model):
            raise ModelRefused(
                f"the model was fitted for encoder {model.manifest.encoder!r} "
                f"({model.manifest.encoder_sha256[:12]}), the index has {self._encoder.id!r} "
                f"({self._encoder.sha256[:12]}); train again on this index"
            )


def packed(values: NDArray[np.float64]) -> str:
    """Return numbers as a model stores them."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=_STORED).tobytes()).decode("ascii")


def _now() -> datetime:
    return datetime.now(UTC)
