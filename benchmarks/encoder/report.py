"""The encoder alone on the test sets: `python -m benchmarks.encoder.report --data DIR`.

Run once, after everything is chosen: nothing may be searched over these numbers. They rank whole catalogues by cosine,
without any other lane of the pipeline.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.encoder.measure import Encode, Recall, dev_scores, measure
from toolsearch.text.embed.bundled import BundledEncoder

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trial:
    """Requests of one set over the tools of the same or another of the same ids.

    Attributes:
        requests: Data set of the requests.
        tools: Data set of the tools.
        file: Queries file.
    """

    requests: str
    tools: str
    file: str = "queries.jsonl"

    @property
    def title(self) -> str:
        """Name in the report."""
        return self.requests if self.requests == self.tools else f"{self.requests} over {self.tools}"


_OWN: Final = (
    "azure_mcp_2025",
    "gtc_github_full",
    "gtc_github",
    "gtc_k8s",
    "gtc_ecommerce",
    "gtc_mixed_mcp",
    "ultratool_en",
    "ultratool_zh",
    "hammerbench_en",
    "hammerbench_zh",
    "metatool",
    "stabletoolbench",
    "restbench",
    "toolret_apibank",
    "toolret_toolink",
)

TRIALS: Final = (
    *(Trial(name, name) for name in _OWN),
    Trial("ultratool_zh", "ultratool_en"),
    Trial("hammerbench_zh", "hammerbench_en"),
    Trial("livemcpbench", "livemcpbench", "queries_callbus.jsonl"),
)


def test_scores(data: Path, encode: Encode) -> dict[str, Recall]:
    """Return the recall on every test set."""
    return {one.title: measure(data, encode, tools=one.tools, requests=one.requests, file=one.file) for one in TRIALS}


def main(arguments: Sequence[str] | None = None) -> None:
    """Log the recall on the dev and the test sets, as lines of a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the public data sets")
    parser.add_argument("--dev-only", action="store_true", help="leave the test sets alone")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    encode = BundledEncoder().encode_queries
    scores = dev_scores(options.data, encode)
    if not options.dev_only:
        scores |= test_scores(options.data, encode)
    for name, one in scores.items():
        _log.info("| %s | %d | %.3f | %.3f |", name, one.requests, one.first, one.five)


if __name__ == "__main__":
    main()
