"""Any sentence-transformers model, from a local folder or by hub name. Needs the [st] extra.

Making an encoder loads the model, which takes seconds: its dimension and weights are not known before. Texts are
encoded one at a time, because torch picks other kernels for other batch shapes and the last bits of a vector would
depend on its neighbours; in a batch, short texts would be up to three times faster.

When the network is used stands in `hub`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import IndexStateError, MissingExtraError
from toolsearch.text.embed.hub import loading, model_folder, model_id, weights_digest
from toolsearch.text.embed.protocol import EncoderInfo

PROBE: tuple[tuple[str, str], ...] = (
    ("where is my parcel now", "track_shipment. Returns the current location and delivery status of a shipment."),
    ("will it rain in Oslo tomorrow", "get_forecast. Weather forecast for a city for the coming days."),
    ("book a table for four on Friday", "reserve_restaurant. Makes a reservation at a restaurant."),
    ("how much is one euro in yen", "convert_currency. Converts an amount from one currency to another."),
    ("mute the project channel", "set_channel_notifications. Changes the notification settings of a channel."),
    ("who is off sick this week", "list_absences. Lists the absences of employees in a period."),
    ("restart the payment pods", "kubernetes_rollout_restart. Restarts the pods of a deployment."),
    ("give the customer his money back", "create_refund. Refunds a payment in full or in part."),
    ("put a meeting with Ana on Monday", "create_event. Adds an event to a calendar and invites people."),
    ("which pull requests wait for me", "search_pull_requests. Finds pull requests by author, reviewer or state."),
    ("translate this letter into Polish", "translate_text. Translates text from one language to another."),
    ("delete the old backup files", "remove_files. Deletes files from a storage bucket."),
)
"""Requests and the tools they need; each request is unrelated to every other tool. Measures a model's numbers."""


class SentenceTransformersEncoder:
    """A SentenceTransformer on the CPU, with the query and document prompts that its configuration names."""

    def __init__(self, model: str | Path, *, scripts: tuple[str, ...] = ("any",)) -> None:
        """Load the model, and measure on a few fixed pairs which cosines it gives to unrelated and right texts.

        Args:
            model: A local folder, or a hub name such as `sentence-transformers/all-MiniLM-L6-v2`.
            scripts: Scripts the model understands: `latin`, `han`, or `any`.

        Raises:
            MissingExtraError: If sentence-transformers or torch is not installed.
            IndexStateError: If there is no such model, or it is not in the cache and the hub is out of reach.
        """
        name = str(model)
        folder, self._model = _load(name)
        dim = self._model.get_embedding_dimension()
        if dim is None:
            raise IndexStateError(f"model {name!r} does not say how long its vectors are: name another model")
        self._dim = int(dim)
        digest = weights_digest(folder)
        floor, ceiling = self._measure_cosines()
        self._info = EncoderInfo(
            id=model_id(name, folder=folder, digest=digest),
            dim=self._dim,
            sha256=digest,
            scripts=scripts,
            cosine_floor=floor,
            cosine_ceiling=ceiling,
        )

    @property
    def info(self) -> EncoderInfo:
        """Return the identity. Where the folder lies is not part of it, so an index can move between machines."""
        return self._info

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], unit rows, made with the model's query prompt if it has one."""
        return self._encode(self._model.encode_query, texts)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], unit rows, made with the model's document prompt if it has one."""
        return self._encode(self._model.encode_document, texts)

    def _encode(self, encode: Any, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:  # the library would return shape (0,)
            return np.zeros((0, self._dim), dtype=np.float32)
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        raw = encode(clean, batch_size=1, convert_to_numpy=True, show_progress_bar=False)
        # Scaled here and row by row: not every model ends in a normalising layer.
        rows = [np.asarray(row, dtype=np.float64) for row in raw]
        return np.stack([row / max(float(np.linalg.norm(row)), 1e-12) for row in rows]).astype(np.float32)

    def _measure_cosines(self) -> tuple[float, float]:
        """Return the median cosine of unrelated probe pairs, and the 90th percentile of right ones."""
        requests = self.encode_queries([request for request, _ in PROBE])
        tools = self.encode_documents([tool for _, tool in PROBE])
        cosines = requests.astype(np.float64) @ tools.astype(np.float64).T
        right = np.eye(len(PROBE), dtype=np.bool_)
        floor = round(float(np.median(cosines[~right])), 2)
        return floor, max(round(float(np.quantile(cosines[right], 0.9)), 2), round(floor + 0.01, 2))


def _load(name: str) -> tuple[Path, Any]:
    """Return the folder of the model's files and the loaded model."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError(package="sentence-transformers", extra="st") from error
    with loading(name, kind="sentence-transformers"):
        folder = model_folder(name)
        return folder, SentenceTransformer(str(folder), device="cpu", local_files_only=True)
