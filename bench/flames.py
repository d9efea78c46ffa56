# SPDX-License-Identifier: Apache-2.0
"""Flame graphs of the five heaviest steps.

    python -m bench.flames FOLDER [DIALOGUES]

profiles steps of :mod:`bench.growth`, each a process with its children, over a store of so many
published dialogues, and writes one SVG per step. A box is a function; its width is its share of the
samples, and the functions that it called stand on it. Native code, mostly the engine, counts for
the function that called it. Needs py-spy with permission to trace processes, and the published
archives in the folder named by KGBENCH_EXTERNAL_DATA.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench.drawing import save
from kgbench.plots.figures import PALETTE, Size, create_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = ("import", "run", "reevaluate", "analyze", "publish")
_DIALOGUES = 1_560
_RATE = 100  # samples per second
_DEEPEST = 16  # maximal depth of a figure, in functions
_LEAST = 0.004  # of all samples: narrower boxes are left out
_NAMED = 0.0062  # of all samples: width of a letter
_SHORTEST = 3  # minimal letters of a truncated name
_OURS = "(kgbench/"
_IMPORTING = "<frozen importlib"


@dataclass
class Box:
    """A function (``module.name``) with its samples and what it called, by name."""

    samples: int = 0
    called: dict[str, Box] = field(default_factory=dict)


def boxes(lines: Iterable[str]) -> Box:
    """Parse stacks, one per line: functions joined by semicolons, a space, number of samples.

    Idle threads and the start of processes count for no function.
    """
    root = Box()
    for line in lines:
        stack, _, samples = line.rstrip().rpartition(" ")
        if not samples.isdecimal():  # a line of the command of a process
            continue
        box = root
        box.samples += int(samples)
        for function in _functions(stack):
            box = box.called.setdefault(function, Box())
            box.samples += int(samples)
    return root


def _functions(stack: str) -> list[str]:
    """Return the functions of a stack that belong to kgbench or are called by such functions."""
    functions: list[str] = []
    by_ours = False
    for frame in stack.split(";"):
        ours = _OURS in frame
        if by_ours and _IMPORTING in frame:
            return [*functions, "import"]
        if ours or by_ours:
            functions.append(_name(frame))
        by_ours = ours
    return functions[:_DEEPEST]


def _name(frame: str) -> str:
    """Return ``writer.put`` for ``Writer.put (kgbench/engine/queues.py)``."""
    function, _, path = frame.rpartition(" (")
    module = Path(path.rstrip(")").partition(":")[0])
    owner = module.parent.name if module.stem == "__init__" else module.stem
    return f"{owner}.{function.rpartition('.')[2]}"


def flame(root: Box, title: str) -> Figure:
    """Return a figure of a profile."""
    shown = sum(box.samples for box in root.called.values())
    height = _depth(root, shown)

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        _draw(axes, root, 0.0, 0, shown)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, height)
        axes.set_axis_off()
        axes.set_title(title)

    return create_figure(draw, size=Size(9.6), height=0.6 + 0.16 * height)


def _depth(box: Box, shown: int) -> int:
    wide = [child for child in box.called.values() if child.samples >= _LEAST * shown]
    return 1 + max((_depth(child, shown) for child in wide), default=-1)


def _draw(axes: Axes, box: Box, left: float, level: int, shown: int) -> None:
    for name, child in sorted(box.called.items()):
        width = child.samples / shown
        if width >= _LEAST:
            colour = PALETTE[sum(name.partition(".")[0].encode()) % len(PALETTE)]
            axes.barh(level, width, 0.92, left, align="edge", color=colour, alpha=0.45)
            letters = int(width / _NAMED)
            if letters >= _SHORTEST:
                text = name if len(name) <= letters else f"{name[: letters - 1]}…"
                position = (left + 0.002, level + 0.45)
                axes.annotate(text, position, va="center", fontsize=5.5, annotation_clip=False)
            _draw(axes, child, left, level + 1, shown)
        left += width


def profile(step: str, store: Path, dialogues: int) -> Box:
    """Profile a step."""
    raw = store.parent / f"{step}.txt"
    command = [str(Path(sysconfig.get_path("scripts"), "py-spy")), "record", "--subprocesses"]
    command += ["--function", "--rate", str(_RATE), "--format", "raw", "--output", str(raw), "--"]
    command += [sys.executable, "-m", "bench.growth", step, str(store), str(dialogues)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed command
    with raw.open(encoding="utf-8") as lines:
        return boxes(lines)


def main(folder: str, dialogues: str = str(_DIALOGUES)) -> None:
    """Write one figure per step."""
    with tempfile.TemporaryDirectory() as scratch:
        for step in STEPS:
            store = Path(scratch) / ("own" if step == "run" else "store")
            root = profile(step, store, int(dialogues))
            title = f"{step}, {int(dialogues):,} dialogues: {root.samples / _RATE:,.0f} s"
            save(flame(root, title), Path(folder) / f"{step}.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
