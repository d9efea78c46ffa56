# SPDX-License-Identifier: Apache-2.0
"""Flame graphs of the five heaviest paths, as pictures: where the time of a step goes.

    python -m bench.flames FOLDER [DIALOGUES]

profiles steps of :mod:`bench.growth`, each a process of its own with its children, over a store of
so many published dialogues, and writes one SVG a step. A box is a function, as wide as the share of
samples in which it was at work; what it called stands on it. Code below Python, above all the
engine, counts for the function that called it. Needs py-spy, which must be allowed to look into
processes, and the published archives in the folder named by KGBENCH_EXTERNAL_DATA.
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
_RATE = 100  # samples a second
_DEEPEST = 16  # functions that a picture shows above each other
_LEAST = 0.004  # of all samples: boxes that are narrower are left out
_NAMED = 0.0062  # of all samples for each letter of a name
_SHORTEST = 3  # letters of a name that tell something
_OURS = "(kgbench/"
_IMPORTING = "<frozen importlib"


@dataclass
class Box:
    """A function (``module:name``) with its samples and what it called, by name."""

    samples: int = 0
    called: dict[str, Box] = field(default_factory=dict)


def boxes(lines: Iterable[str]) -> Box:
    """All stacks of a profile, one a line: functions joined by semicolons, a space, samples.

    Idle threads and the start of processes count for no function.
    """
    root = Box()
    for line in lines:
        stack, _, samples = line.rstrip().rpartition(" ")
        if not samples.isdecimal():  # commands that processes are called by have several lines
            continue
        at = root
        at.samples += int(samples)
        for function in _functions(stack):
            at = at.called.setdefault(function, Box())
            at.samples += int(samples)
    return root


def _functions(stack: str) -> list[str]:
    """The functions of a stack that are ours, and those of others that ours have called."""
    found: list[str] = []
    by_ours = False
    for frame in stack.split(";"):
        ours = _OURS in frame
        if by_ours and _IMPORTING in frame:
            return [*found, "import"]
        if ours or by_ours:
            found.append(_name(frame))
        by_ours = ours
    return found[:_DEEPEST]


def _name(frame: str) -> str:
    """``aggregates.seal`` for ``Aggregates.seal (kgbench/record/aggregates.py)``."""
    function, _, place = frame.rpartition(" (")
    module = Path(place.rstrip(")").partition(":")[0])
    owner = module.parent.name if module.stem == "__init__" else module.stem
    return f"{owner}.{function.rpartition('.')[2]}"


def flame(root: Box, title: str) -> Figure:
    """The picture of a profile."""
    shown = sum(one.samples for one in root.called.values())
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
    wide = [one for one in box.called.values() if one.samples >= _LEAST * shown]
    return 1 + max((_depth(one, shown) for one in wide), default=-1)


def _draw(axes: Axes, box: Box, left: float, level: int, shown: int) -> None:
    for name, one in sorted(box.called.items()):
        width = one.samples / shown
        if width >= _LEAST:
            colour = PALETTE[sum(name.partition(".")[0].encode()) % len(PALETTE)]
            axes.barh(level, width, 0.92, left, align="edge", color=colour, alpha=0.45)
            letters = int(width / _NAMED)
            if letters >= _SHORTEST:
                text = name if len(name) <= letters else f"{name[: letters - 1]}…"
                place = (left + 0.002, level + 0.45)
                axes.annotate(text, place, va="center", fontsize=5.5, annotation_clip=False)
            _draw(axes, one, left, level + 1, shown)
        left += width


def profile(step: str, store: Path, dialogues: int) -> Box:
    """Where the time of a step goes."""
    found = store.parent / f"{step}.txt"
    words = [str(Path(sysconfig.get_path("scripts"), "py-spy")), "record", "--subprocesses"]
    words += ["--function", "--rate", str(_RATE), "--format", "raw", "--output", str(found), "--"]
    words += [sys.executable, "-m", "bench.growth", step, str(store), str(dialogues)]
    subprocess.run(words, check=True, capture_output=True)  # noqa: S603 - fixed words
    with found.open(encoding="utf-8") as lines:
        return boxes(lines)


def main(folder: str, dialogues: str = str(_DIALOGUES)) -> None:
    """Write one picture a step."""
    with tempfile.TemporaryDirectory() as scratch:
        for step in STEPS:
            store = Path(scratch) / ("own" if step == "run" else "store")
            found = profile(step, store, int(dialogues))
            title = f"{step}, {int(dialogues):,} dialogues: {found.samples / _RATE:,.0f} s"
            save(flame(found, title), Path(folder) / f"{step}.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
