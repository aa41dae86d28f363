"""Options of the whole test suite."""

import os

import pytest
from hypothesis import settings

# The same examples in every run: a red build must be red for everybody. Explore with HYPOTHESIS_PROFILE=default.
settings.register_profile("toolsearch", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "toolsearch"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forbid-skips", action="store_true", help="fail where a test would be skipped, as CI does")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and not hasattr(report, "wasxfail") and item.config.getoption("--forbid-skips"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and nothing may be: {report.longrepr}"
