"""What is saved is loaded; what is damaged is noticed; what is built in steps equals what is built at once."""

import hashlib
import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import IndexCorrupt, IndexMissing
from toolsearch.model.limits import Bm25Parameters
from toolsearch.search.index.folder import read_snapshot, write_snapshot
from toolsearch.search.index.snapshot import build_snapshot
from toolsearch.text.embed.protocol import EncoderInfo

DIM = 4
WIDTH = 4
INFO = EncoderInfo(
    id="letters@1",
    dim=DIM,
    sha256="0" * 64,
    scripts=("any",),
    cosine_floor=0.0,
    cosine_ceiling=1.0,
    token_width=WIDTH,
)
PARTS = ("lexical", "contract_vectors", "example_vectors", "negative_vectors", "tokens")


def embed(texts):
    rows = [np.frombuffer(hashlib.sha256(text.encode()).digest()[:DIM], np.uint8) for text in texts]
    matrix = np.array(rows, dtype=np.float32) + 1.0
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def tokens(texts):
    """A row for each of the first letters of a text."""
    return [np.array([[ord(letter) % 100] * WIDTH for letter in text[:9]], dtype=np.int8) for text in texts]


def build(contracts, *, previous=None, generation=1):
    return build_snapshot(
        contracts,
        generation=generation,
        encoder=INFO,
        embed=embed,
        tokens=tokens,
        parameters=Bm25Parameters(),
        previous=previous,
    )


def content(snapshot):
    """Return everything a snapshot holds, as comparable bytes."""
    arrays = {
        f"{part}.{name}": (str(array.dtype), array.shape, array.tobytes())
        for part in PARTS
        for name, array in getattr(snapshot, part).arrays().items()
    }
    catalog = snapshot.contracts
    return (
        arrays,
        catalog.refs,
        catalog.fingerprints,
        catalog.lines,
        tuple(each.fingerprint for each in catalog),
    )


words = st.text(st.sampled_from("ab 中订单.\n\u2028"), max_size=12)
texts = st.lists(words, max_size=3)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def tools(draw):
    return ToolContract.model_validate(
        {
            "identity": {
                "name": draw(st.sampled_from(["a", "b", "B", "é", "订单"])),
                "server": draw(st.sampled_from(["s", "t"])),
            },
            "capability": {"does": draw(words), "examples": draw(texts), "does_not": draw(texts)},
            "input": {"schema": {"type": "object", "x": draw(json_values)}},
        }
    )


catalogues = st.lists(tools(), max_size=5, unique_by=lambda tool: tool.ref)


@settings(max_examples=25, deadline=None)
@given(catalogues)
def test_save_then_load_gives_equal_content(contracts):
    snapshot = build(contracts)
    with tempfile.TemporaryDirectory() as root:
        write_snapshot(snapshot, Path(root))
        loaded = read_snapshot(Path(root), encoder=INFO)
        assert content(loaded) == content(snapshot)
        assert list(loaded.contracts) == list(snapshot.contracts)


@settings(max_examples=40, deadline=None)
@given(st.lists(catalogues, min_size=2, max_size=4))
def test_building_in_steps_equals_building_at_once(steps):
    snapshot = None
    for generation, contracts in enumerate(steps):
        snapshot = build(contracts, previous=snapshot, generation=generation)
        assert content(snapshot) == content(build(contracts[::-1]))


TOOLS = [
    ToolContract.model_validate(
        {
            "identity": {"name": name, "server": "s"},
            "capability": {"does": f"does {name}", "examples": ["订单 A1"], "does_not": ["x"]},
        }
    )
    for name in ("a", "b", "c")
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with two snapshots of the same tools, so that a wrong pointer finds something."""
    root = tmp_path_factory.mktemp("whole")
    write_snapshot(build(TOOLS[:2]), root)
    write_snapshot(build(TOOLS, generation=2), root)
    return root, content(build(TOOLS))


def damaged(data, draw):
    """Return the bytes cut, flipped, overwritten or extended."""
    kind = draw(st.sampled_from(["flip", "cut", "noise", "append", "empty"]))
    if kind == "empty" or not data:
        return b""
    at = draw(st.integers(0, len(data) - 1))
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ draw(st.integers(1, 255))]) + data[at + 1 :]
    if kind == "cut":
        return data[:at]
    noise = draw(st.binary(min_size=1, max_size=40))
    return data + noise if kind == "append" else data[:at] + noise + data[at + len(noise) :]


def files_of(root):
    current = (root / "snapshots" / "CURRENT").read_text().split()[0]
    return [
        root / "snapshots" / "CURRENT",
        *sorted(path for path in (root / "snapshots" / current).iterdir()),
    ]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_any_damage_is_corrupt_or_harmless(whole, data):
    source, expected = whole
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "index"
        shutil.copytree(source, root)
        file = data.draw(st.sampled_from(files_of(root)))
        if data.draw(st.booleans()) and data.draw(st.booleans()):
            file.unlink()
        else:
            file.write_bytes(damaged(file.read_bytes(), data.draw))
        if not (root / "snapshots" / "CURRENT").exists():
            with pytest.raises(IndexMissing):
                read_snapshot(root, encoder=INFO)
            return
        try:
            loaded = read_snapshot(root, encoder=INFO)
        except IndexCorrupt:
            return
        assert content(loaded) == expected


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_forged_files_are_corrupt_or_load_but_never_crash(whole, data):
    """Damage whose checksums were made to fit: someone wrote it on purpose."""
    source, _ = whole
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "index"
        shutil.copytree(source, root)
        pointer, *files = files_of(root)
        manifest = files[0].parent / "manifest.json"
        file = data.draw(st.sampled_from([each for each in files if each != manifest]))
        file.write_bytes(damaged(file.read_bytes(), data.draw))
        body = json.loads(manifest.read_bytes())["manifest"]
        body["files"][file.name] = {
            "bytes": file.stat().st_size,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        }
        checksum = hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()
        sealed = json.dumps({"sha256": checksum, "manifest": body}).encode()
        manifest.write_bytes(sealed)
        pointer.write_text(f"{manifest.parent.name} {hashlib.sha256(sealed).hexdigest()}")
        with suppress(IndexCorrupt):
            list(read_snapshot(root, encoder=INFO).contracts)
