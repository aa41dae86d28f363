"""LlamaIndex's ObjectIndex over a VectorStoreIndex, with its own text for each tool: name, description and schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import BaseModel, PrivateAttr
from llama_index.core.objects import ObjectIndex
from llama_index.core.tools import FunctionTool, ToolMetadata

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool


class _Embedding(BaseEmbedding):
    _embed: Any = PrivateAttr()

    def __init__(self, embed: Embed) -> None:
        super().__init__(model_name="minilm")
        self._embed = embed

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._embed([text])[0].tolist()

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embed(texts).tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def build(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the object retriever's search."""
    objects = [
        FunctionTool(
            fn=lambda: None,
            metadata=ToolMetadata(name=tool.name, description=tool.description, fn_schema=_schema(tool)),
        )
        for tool in tools
    ]
    index = ObjectIndex.from_objects(objects, index_cls=VectorStoreIndex, embed_model=_Embedding(embed))
    retriever = index.as_retriever(similarity_top_k=k)
    return lambda request: [found.metadata.name for found in retriever.retrieve(request)]


def _schema(tool: PeerTool) -> type[BaseModel]:
    """Return a model that gives the published schema as its own; the index asks for nothing else."""

    def model_json_schema(cls: type[BaseModel], *args: object, **options: object) -> dict[str, Any]:
        return dict(tool.input_schema)

    return type(f"{tool.name}_input", (BaseModel,), {"model_json_schema": classmethod(model_json_schema)})
