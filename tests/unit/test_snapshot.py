import hashlib
import json
import shutil

import numpy as np
import pytest

from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.errors import (
    AnalyzerMismatch,
    ContractError,
    EncoderMismatch,
    IndexCorrupt,
    IndexFormatMismatch,
    IndexMissing,
    IndexStateError,
)
from toolsearch.model.limits import Bm25Parameters
from toolsearch.search.index import folder as folder_module
from toolsearch.search.index.catalog import Catalog
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.folder import read_snapshot, verify_snapshot, write_snapshot
from toolsearch.search.index.manifest import seal, unseal
from toolsearch.search.index.snapshot import build_snapshot
from toolsearch.text.embed.protocol import EncoderInfo

DIM = 8
INFO = EncoderInfo(id="letters@1", dim=DIM, sha256="0" * 64, scripts=("any",), cosine_floor=0.0, cosine_ceiling=1.0)
PARAMETERS = Bm25Parameters()


class Letters:
    """Embeds a text by its hash and remembers what it was asked."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts.extend(texts)
        rows = [np.frombuffer(hashlib.sha256(text.encode()).digest()[:DIM], np.uint8) for text in texts]
        matrix = np.array(rows, dtype=np.float32) + 1.0
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def contract(name, does="reads things", *, examples=(), does_not=(), version=1):
    return ToolContract.model_validate(
        {
            "identity": {"name": name, "server": "s", "version": version},
            "capability": {"does": does, "examples": list(examples), "does_not": list(does_not)},
        }
    )


TOOLS = [
    contract("orders.get", "Reads one order", examples=["where is A1", "订单到哪了"], does_not=["cancels"]),
    contract("orders.cancel", "Cancels an order", does_not=["reads", "refunds"]),
    contract("天气", "查天气"),
]


def build(contracts, *, embed=None, previous=None, generation=1, encoder=INFO, parameters=PARAMETERS):
    return build_snapshot(
        contracts,
        generation=generation,
        encoder=encoder,
        embed=Letters() if embed is None else embed,
        parameters=parameters,
        previous=previous,
    )


def assert_same(one, other):
    assert one.contracts.refs == other.contracts.refs
    assert one.contracts.fingerprints == other.contracts.fingerprints
    assert one.contracts.lines == other.contracts.lines
    assert one.contracts.tokens == other.contracts.tokens
    for part in ("lexical", "contract_vectors", "example_vectors", "negative_vectors", "tokens"):
        arrays, others = getattr(one, part).arrays(), getattr(other, part).arrays()
        assert arrays.keys() == others.keys()
        for name, array in arrays.items():
            assert array.dtype == others[name].dtype, (part, name)
            np.testing.assert_array_equal(array, others[name], err_msg=f"{part}.{name}")


def current_folder(root):
    return root / "snapshots" / (root / "snapshots" / "CURRENT").read_text().split()[0]


# Catalog


def test_catalog_is_sorted_and_parses_when_asked():
    catalog = Catalog.of(TOOLS)
    assert [str(ref) for ref in catalog.refs] == ["s/orders.cancel@1", "s/orders.get@1", "s/天气@1"]
    stored = Catalog(refs=catalog.refs, fingerprints=catalog.fingerprints, lines=catalog.lines, tokens=catalog.tokens)
    assert list(stored) == list(catalog) == sorted(TOOLS, key=lambda tool: tool.ref)
    assert stored[1] is stored[1]
    assert stored[-1].identity.name == "天气"
    assert stored[1:] == (TOOLS[0], TOOLS[2])
    assert stored.find(ToolRef("s", "天气", 1)) == 2
    assert stored.find(ToolRef("s", "none", 1)) is None
    assert stored.plain(2) == TOOLS[2].canonical()
    assert stored[0].fingerprint == TOOLS[1].fingerprint
    with pytest.raises(IndexError):
        stored[3]


def test_catalog_changes_leave_the_old_one_alone():
    old = Catalog.of(TOOLS)
    new = old.changed([contract("a"), contract("天气", "else")], [TOOLS[0].ref, ToolRef("s", "none", 1)])
    assert [ref.name for ref in new.refs] == ["a", "orders.cancel", "天气"]
    assert new.kept_from(old).tolist() == [-1, 0, -1]
    assert old.kept_from(old).tolist() == [0, 1, 2]
    assert len(old) == 3


def test_keys_in_another_order_are_the_same_contract_and_the_first_order_stays():
    first, second = (
        ToolContract.model_validate({"identity": {"name": "a"}, "input": {"schema": {"properties": properties}}})
        for properties in ({"x": {}, "b": {}}, {"b": {}, "x": {}})
    )
    catalog = Catalog.of([first]).changed([second], [second.ref])
    assert list(catalog[0].input_schema["properties"]) == ["x", "b"]
    assert catalog.lines == Catalog.of([first]).lines


def test_catalog_refuses_one_ref_with_two_contents():
    assert len(Catalog.of([TOOLS[0], TOOLS[0]])) == 1
    with pytest.raises(ContractError, match=r"s/a@1 is given twice"):
        Catalog.of([contract("a", "one"), contract("a", "two")])


def test_catalog_with_an_unreadable_line_says_rebuild():
    catalog = Catalog(refs=[ToolRef("s", "a", 1)], fingerprints=["0" * 64], lines=[b'{"identity": 1}'], tokens=[1])
    with pytest.raises(IndexCorrupt, match="rebuild"):
        catalog[0]


# Building


def test_build_embeds_contracts_examples_and_negatives():
    embed = Letters()
    snapshot = build(TOOLS, embed=embed)
    assert snapshot.vectors_ready
    assert snapshot.contract_vectors.owners.tolist() == [0, 1, 2]
    assert snapshot.example_vectors.owners.tolist() == [1, 1]
    assert snapshot.negative_vectors.owners.tolist() == [0, 0, 1]
    assert len(embed.texts) == len(set(embed.texts)) == 11
    assert snapshot.example_text(1) == "订单到哪了"
    assert [snapshot.negative_text(row) for row in range(3)] == ["reads", "refunds", "cancels"]
    texts, weights = zip(*snapshot.document(1).views, strict=True)
    mean = np.array(weights) @ Letters()(texts).astype(np.float64)
    np.testing.assert_allclose(snapshot.contract_vectors.rows[1], mean / np.linalg.norm(mean), rtol=1e-6)


def test_order_of_contracts_changes_nothing():
    assert_same(build(TOOLS), build(TOOLS[::-1]))


def test_incremental_build_equals_a_fresh_one_and_embeds_only_what_is_new():
    before = build(TOOLS)
    changed = [contract("a", "new one", does_not=["b"]), TOOLS[0], contract("天气", "查空气", examples=["pm2.5"])]
    embed = Letters()
    after = build(changed, previous=before, embed=embed, generation=2)
    assert_same(after, build(changed))
    assert after.generation == 2
    views = [text for doc_id in (0, 2) for text, _ in after.document(doc_id).views]
    assert sorted(embed.texts) == sorted({*views, "b", "pm2.5"})
    fast = build(before.contracts.changed(changed, [TOOLS[1].ref]), previous=before)
    assert_same(fast, after)


def test_unchanged_build_shares_everything():
    before = build(TOOLS)
    embed = Letters()
    after = build(TOOLS, previous=before, embed=embed, generation=9)
    assert embed.texts == []
    assert after.lexical is before.lexical
    assert after.contract_vectors is before.contract_vectors


def test_removal_alone_shifts_doc_ids():
    after = build(TOOLS[1:], previous=build(TOOLS))
    assert_same(after, build(TOOLS[1:]))


def test_vectors_may_come_later():
    first = build_snapshot(TOOLS, generation=1, encoder=INFO, embed=None, parameters=PARAMETERS)
    assert not first.vectors_ready
    hits = first.lexical.search(["order"], docs=DocSet.of([0, 1, 2], n_docs=3), depth=5)
    assert sorted(hits.doc_ids.tolist()) == [0, 1]
    assert_same(build(TOOLS, previous=first), build(TOOLS))
    partly = build_snapshot(
        [*TOOLS, contract("b")],
        generation=2,
        encoder=INFO,
        embed=None,
        parameters=PARAMETERS,
        previous=build(TOOLS),
    )
    assert partly.contract_vectors.owners.tolist() == [1, 2, 3]
    embed = Letters()
    assert_same(build([*TOOLS, contract("b")], previous=partly, embed=embed), build([*TOOLS, contract("b")]))
    assert len(embed.texts) == 2


def test_another_encoder_or_other_parameters_are_built_afresh():
    before = build(TOOLS)
    other = EncoderInfo(id=INFO.id, dim=DIM, sha256="1" * 64, scripts=("any",), cosine_floor=0.0, cosine_ceiling=1.0)
    embed = Letters()
    build(TOOLS, previous=before, encoder=other, embed=embed)
    assert len(embed.texts) == 11
    heavier = Bm25Parameters(fields=dict(reversed(PARAMETERS.fields.items())))
    assert_same(build(TOOLS, previous=before, parameters=heavier), build(TOOLS, parameters=heavier))


def test_empty_catalogue():
    snapshot = build([])
    assert (snapshot.n_docs, snapshot.vectors_ready) == (0, True)
    assert_same(build([], previous=build(TOOLS)), snapshot)


def test_an_encoder_that_gives_too_few_vectors_is_refused():
    with pytest.raises(IndexStateError, match=r"1 vectors for 11 texts"):
        build(TOOLS, embed=lambda texts: Letters()(texts[:1]))


# Folders


@pytest.mark.parametrize("tools", [TOOLS, []], ids=["tools", "empty"])
def test_save_and_load_are_equal(tmp_path, tools):
    snapshot = build(tools, generation=3)
    manifest = write_snapshot(snapshot, tmp_path)
    loaded = read_snapshot(tmp_path, encoder=INFO)
    assert_same(loaded, snapshot)
    assert list(loaded.contracts) == list(snapshot.contracts)
    assert (loaded.generation, loaded.encoder, loaded.analyzer) == (3, INFO, snapshot.analyzer)
    assert loaded.lexical.parameters == snapshot.lexical.parameters
    assert manifest.counts.tools == len(tools)
    assert verify_snapshot(tmp_path) == manifest
    assert_same(build(TOOLS[:2], previous=loaded), build(TOOLS[:2]))


def test_same_snapshot_same_bytes(tmp_path):
    for name, tools in {"a": TOOLS, "b": TOOLS[::-1]}.items():
        write_snapshot(build(tools), tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert len(files) > 10
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_two_snapshots_are_kept_and_leftovers_removed(tmp_path):
    (tmp_path / "snapshots" / "1.tmp-77").mkdir(parents=True)
    for generation in range(1, 5):
        write_snapshot(build(TOOLS, generation=generation), tmp_path)
    names = sorted(path.name.split("-")[0] for path in (tmp_path / "snapshots").iterdir())
    assert names == ["3", "4", "CURRENT"]


def test_a_reader_keeps_what_it_opened(tmp_path):
    write_snapshot(build(TOOLS), tmp_path)
    old = read_snapshot(tmp_path, encoder=INFO)
    for generation in range(2, 6):
        write_snapshot(build([contract(f"n{generation}")], generation=generation), tmp_path)
    assert_same(old, build(TOOLS))
    assert len(list(old.contracts)) == 3


def test_a_reader_that_loses_the_race_reads_the_next_one(tmp_path, monkeypatch):
    write_snapshot(build(TOOLS), tmp_path)
    check, raced = folder_module._check_files, []

    def swap_first(folder, manifest, *, root):
        if not raced:
            raced.append(folder)
            write_snapshot(build([contract("new")], generation=2), tmp_path)
            shutil.rmtree(folder)
        check(folder, manifest, root=root)

    monkeypatch.setattr(folder_module, "_check_files", swap_first)
    loaded = read_snapshot(tmp_path, encoder=INFO)
    assert [ref.name for ref in loaded.contracts.refs] == ["new"]


def test_writing_the_same_snapshot_again_mends_it(tmp_path):
    snapshot = build(TOOLS)
    write_snapshot(snapshot, tmp_path)
    write_snapshot(snapshot, tmp_path)
    (current_folder(tmp_path) / "contracts.jsonl").write_bytes(b"")
    with pytest.raises(IndexCorrupt):
        read_snapshot(tmp_path, encoder=INFO)
    write_snapshot(snapshot, tmp_path)
    assert_same(read_snapshot(tmp_path, encoder=INFO), snapshot)


def test_one_generation_may_be_written_again_with_vectors(tmp_path):
    first = build_snapshot(TOOLS, generation=1, encoder=INFO, embed=None, parameters=PARAMETERS)
    write_snapshot(first, tmp_path)
    assert not read_snapshot(tmp_path, encoder=INFO).vectors_ready
    write_snapshot(build(TOOLS, previous=first), tmp_path)
    assert read_snapshot(tmp_path, encoder=INFO).vectors_ready


def test_missing_snapshot(tmp_path):
    for root in (tmp_path, tmp_path / "none"):
        with pytest.raises(IndexMissing, match="toolsearch index"):
            read_snapshot(root, encoder=INFO)
        with pytest.raises(IndexMissing):
            verify_snapshot(root)


def test_encoder_mismatch_names_the_rebuild_command(tmp_path):
    write_snapshot(build(TOOLS), tmp_path)
    for change in ({"id": "other@1"}, {"sha256": "f" * 64}, {"dim": 9}):
        fields = {name: getattr(INFO, name) for name in EncoderInfo.__slots__} | change
        with pytest.raises(EncoderMismatch) as caught:
            read_snapshot(tmp_path, encoder=EncoderInfo(**fields))
        assert f"toolsearch index --rebuild {tmp_path}" in str(caught.value)
        assert caught.value.found.startswith("letters@1 (dim 8")


def reseal(root, change):
    """Change the manifest of the current snapshot and make all checksums fit again."""
    folder = current_folder(root)
    envelope = json.loads((folder / "manifest.json").read_text())
    change(envelope["manifest"])
    for name, entry in envelope["manifest"]["files"].items():
        if (folder / name).is_file():
            data = (folder / name).read_bytes()
            entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    body = json.dumps(envelope["manifest"], separators=(",", ":")).encode()
    envelope["sha256"] = hashlib.sha256(body).hexdigest()
    sealed = json.dumps(envelope).encode()
    (folder / "manifest.json").write_bytes(sealed)
    (root / "snapshots" / "CURRENT").write_text(f"{folder.name} {hashlib.sha256(sealed).hexdigest()}\n")


def test_another_format_or_analyzer_is_told_apart_from_damage(tmp_path):
    write_snapshot(build(TOOLS), tmp_path)
    reseal(tmp_path, lambda body: body.update(analyzer="other/9"))
    with pytest.raises(AnalyzerMismatch, match=r"other/9.*--rebuild"):
        read_snapshot(tmp_path, encoder=INFO)
    reseal(tmp_path, lambda body: body.update(format_version=99, surprise=[]))
    with pytest.raises(IndexFormatMismatch, match=r"format 99.*--rebuild"):
        read_snapshot(tmp_path, encoder=INFO)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(surprise=1),
        lambda body: body.pop("counts"),
        lambda body: body["counts"].update(tools=2),
        lambda body: body["counts"].update(example_vectors=0),
        lambda body: body["files"].update({"../../escape": {"bytes": 0, "sha256": "0" * 64}}),
        lambda body: body["files"].pop("heads.json") and body["files"].pop("lexical.docs.npy"),
        lambda body: body["lexical"].update(k1=-1.0),
    ],
)
def test_a_manifest_that_lies_is_corrupt_even_if_its_checksums_fit(tmp_path, change):
    write_snapshot(build(TOOLS), tmp_path)
    reseal(tmp_path, change)
    with pytest.raises(IndexCorrupt):
        read_snapshot(tmp_path, encoder=INFO)


def test_pickles_are_never_opened(tmp_path):
    write_snapshot(build(TOOLS), tmp_path)

    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    file = current_folder(tmp_path) / "lexical.docs.npy"
    np.save(file, np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(IndexCorrupt):
        read_snapshot(tmp_path, encoder=INFO)
    reseal(tmp_path, lambda body: None)
    with pytest.raises(IndexCorrupt):
        read_snapshot(tmp_path, encoder=INFO)
    file.write_bytes(b"\x80\x04K\x01.")
    reseal(tmp_path, lambda body: None)
    with pytest.raises(IndexCorrupt):
        read_snapshot(tmp_path, encoder=INFO)


@pytest.mark.parametrize("pointer", ["", "x", "../../etc " + "0" * 64, "a b c", "\udcff", "1-abc " + "0" * 64])
def test_a_pointer_that_leads_nowhere_is_corrupt(tmp_path, pointer):
    write_snapshot(build(TOOLS), tmp_path)
    (tmp_path / "snapshots" / "CURRENT").write_bytes(pointer.encode("utf-8", "surrogateescape"))
    with pytest.raises(IndexCorrupt, match="--rebuild"):
        read_snapshot(tmp_path, encoder=INFO)


def test_a_disk_that_refuses_leaves_the_old_snapshot(tmp_path, monkeypatch):
    write_snapshot(build(TOOLS), tmp_path)

    def refuse(paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module, "sync_files", refuse)
    with pytest.raises(IndexStateError, match="free space"):
        write_snapshot(build([contract("new")], generation=2), tmp_path)
    monkeypatch.undo()
    assert_same(read_snapshot(tmp_path, encoder=INFO), build(TOOLS))
    assert len(list((tmp_path / "snapshots").iterdir())) == 2


def test_manifest_round_trip(tmp_path):
    manifest = write_snapshot(build(TOOLS), tmp_path)
    assert unseal(seal(manifest), rebuild="x") == manifest
    for data in (b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000, b'{"sha256": 1, "manifest": {}}'):
        with pytest.raises(IndexCorrupt, match="run `x`"):
            unseal(data, rebuild="x")
