"""What may be learned from, and what not."""

from __future__ import annotations

import pytest

from toolsearch.eval.roles import DATA_SETS, Purpose, Role, require_fit_allowed, role_of
from toolsearch.model.errors import DataRoleError

TEST_SETS = sorted(name for name, data in DATA_SETS.items() if data.role is Role.TEST and name != "seal_tools")


@pytest.mark.parametrize("dataset", TEST_SETS)
@pytest.mark.parametrize("split", ["test", "dev", "train"])
@pytest.mark.parametrize("purpose", list(Purpose))
def test_no_split_of_a_test_set_may_be_learned_from(dataset, split, purpose):
    with pytest.raises(DataRoleError, match=f"{dataset} .{split}. is test data") as caught:
        require_fit_allowed(dataset, split, purpose=purpose)
    assert "Use " in str(caught.value)


def test_dev_data_is_for_choosing_and_train_data_for_both():
    assert require_fit_allowed("tooltalk", "test") is Role.DEV
    with pytest.raises(DataRoleError, match="dev data"):
        require_fit_allowed("tooltalk", "test", purpose=Purpose.FIT)
    assert require_fit_allowed("bfcl", "test", purpose=Purpose.FIT) is Role.TRAIN
    assert require_fit_allowed("bfcl", "test") is Role.TRAIN


def test_one_set_may_have_splits_of_different_roles():
    assert role_of("seal_tools", "dev") is Role.DEV
    assert role_of("seal_tools", "test") is Role.TRAIN


def test_another_queries_file_has_its_own_role():
    assert role_of("metatool", "test") is Role.TEST
    assert role_of("metatool/queries_unsampled", "test") is Role.USAGE_LOG
    with pytest.raises(DataRoleError, match="usage_log"):
        require_fit_allowed("metatool/queries_unsampled", "test")
    assert role_of("livemcpbench/queries_callbus", "test") is Role.TEST


def test_catalogues_have_no_labels_to_learn_from():
    with pytest.raises(DataRoleError, match="catalogue data"):
        require_fit_allowed("real_servers", "", purpose=Purpose.FIT)


@pytest.mark.parametrize(
    ("split", "role"), [("dev", Role.DEV), ("train", Role.TRAIN), ("test", Role.TEST), ("all", Role.TEST)]
)
def test_other_data_is_judged_by_its_split(split, role):
    assert role_of("our-cases", split) is role


def test_the_message_names_the_data_that_may_be_used():
    with pytest.raises(DataRoleError, match=r"tooltalk.*seal_tools \(dev\)|seal_tools \(dev\).*tooltalk") as caught:
        require_fit_allowed("azure_mcp_2025", "test")
    assert "hammerbench" not in str(caught.value)
