"""The instruments beside the suites, as `make bench` calls them: each a module of its own that can be run alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from toolsearch.model.errors import ToolSearchError


@dataclass(frozen=True, slots=True)
class Instrument:
    """One command of this package.

    Attributes:
        name: What it is called.
        module: Holds its `main`.
        about: What it measures.
        needs: Folder of the data set it cannot do without, "" if there is none.
        full: Arguments of the whole benchmark.
        quick: Arguments of the quick one.
    """

    name: str
    module: str
    about: str
    needs: str
    full: tuple[str, ...]
    quick: tuple[str, ...]

    def arguments(self, *, data: Path, out: Path, quick: bool) -> list[str]:
        """Return the arguments that measure on `data` and leave result files below `out`."""
        places = {"{out}": str(out), "{results}": str(out / "results")}
        chosen = [_filled(text, places) for text in (self.quick if quick else self.full)]
        return ["--data", str(data), *chosen]


INSTRUMENTS = (
    Instrument(
        name="guarantees",
        module="benchmarks.guarantees",
        about="permission, isolation, order, churn",
        needs="",
        full=("--out", "{out}"),
        quick=("--out", "{out}", "--principals", "2", "--requests", "10"),
    ),
    Instrument(
        name="ablation",
        module="benchmarks.ablation",
        about="each lane and signal, alone and left out",
        needs="",
        full=("--out", "{out}", "--limit", "100"),
        quick=("--out", "{out}", "--limit", "30", "--only", "starter", "--only", "gtc_k8s"),
    ),
    Instrument(
        name="fusion",
        module="benchmarks.fusion",
        about="the fused ranking against reciprocal rank fusion of its lanes",
        needs="azure_mcp_2025",
        full=("--out", "{out}"),
        quick=("--out", "{out}"),
    ),
    Instrument(
        name="latency",
        module="benchmarks.latency.__main__",
        about="time by stage, memory, building",
        needs="real_servers",
        full=("--out", "{results}/latency.json", "--tools", "1000", "10000", "--http"),
        quick=("--out", "{results}/latency.json", "--tools", "1000", "--requests", "60"),
    ),
)

Run = Callable[[Sequence[str]], int]


def run_instrument(instrument: Instrument, *, data: Path, out: Path, quick: bool, run: Run | None = None) -> bool:
    """Run an instrument, say in one line what came of it, and tell whether it passed. One that is skipped passes.

    Args:
        instrument: What to run.
        data: Data root.
        out: Folder that results are written below.
        quick: Whether the quick form is wanted.
        run: Called with the arguments instead of the instrument's own `main`.
    """
    if instrument.needs and not (data / instrument.needs).is_dir():
        print(f"{instrument.name}: skipped, no {instrument.needs} in {data}")
        return True
    main = run or import_module(instrument.module).main
    started = time.perf_counter()
    try:
        passed = main(instrument.arguments(data=data, out=out, quick=quick)) == 0
    except ToolSearchError as error:
        print(f"{instrument.name}: FAILED: {error}")
        return False
    print(f"{instrument.name}: {'ok' if passed else 'FAILED'} in {time.perf_counter() - started:.0f} s", flush=True)
    return passed


def _filled(text: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        text = text.replace(name, place)
    return text
