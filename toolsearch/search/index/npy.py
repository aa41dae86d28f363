"""Plain .npy files, written without copying and mapped without trust.

`numpy.load` evaluates the header as Python and may unpickle; here a header must be, character for character, one
that `npy_chunks` writes: a plain little-endian dtype and a shape.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import IndexCorrupt
from toolsearch.search.index.atomic import Buffer

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '(?P<dtype>[<|][bfiu][1248])', 'fortran_order': False, 'shape': \((?P<shape>[0-9, ]{0,60})\), \} *\n"
)


def npy_chunks(array: NDArray[Any]) -> list[Buffer]:
    """Return the content of the .npy file of an array of numbers or bools.

    Raises:
        TypeError: If it holds anything else.
    """
    if array.dtype.kind not in "bfiu":
        raise TypeError(f"an array of {array.dtype} cannot be stored; store numbers or bools")
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return [header.getvalue(), array.reshape(-1).view(np.uint8).data]


def map_npy(path: Path) -> NDArray[Any]:
    """Return the array of a file, read-only and mapped into memory.

    Raises:
        ValueError: If it is not exactly what `npy_chunks` writes.
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(len(_MAGIC) + 2)
        length = int.from_bytes(start[len(_MAGIC) :], "little")
        match = _HEADER.fullmatch(file.read(length))
    if not start.startswith(_MAGIC) or match is None:
        raise ValueError(f"{path.name} is not a plain array file")
    shape = tuple(int(size) for size in match["shape"].replace(b",", b" ").split())
    dtype = np.dtype(match["dtype"].decode())
    offset = len(start) + length
    if offset + math.prod(shape) * dtype.itemsize != path.stat().st_size:
        raise ValueError(f"{path.name} is not as long as its header says")
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape).view(np.ndarray)


def taken(arrays: Mapping[str, NDArray[Any]], *names: str, kind: str) -> list[NDArray[Any]]:
    """Return the named arrays of a part of a snapshot.

    Raises:
        IndexCorrupt: If one is missing.
    """
    missing = [name for name in names if name not in arrays]
    if missing:
        raise IndexCorrupt(f"{kind} array {missing[0]!r} is missing; rebuild the index")
    return [arrays[name] for name in names]
