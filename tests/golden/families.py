# SPDX-License-Identifier: Apache-2.0
"""Digests of the worlds, cases and verdicts of generated families.

Any other digest of cases requires a new version of the class, and of worlds one of the generator.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from kgbench.tasks import catalogue
from kgbench.testing.judging import PlainExecutor
from kgbench.worlds import generator
from kgbench.worlds.generator import World
from tests.support.families import cases, generated

LABELS = generated()
FEW = 2  # cases of a labelled task


def family(name: str) -> Iterator[str]:
    """Yield lines with digests of the first cases of each task, then of some verdicts."""
    for label in LABELS[name]:
        yield f"{label} {_digest(sorted(case.data.items()) for case in cases(label, FEW))}"
    yield f"verdicts {_digest(_verdicts(name))}"


def worlds() -> Iterator[str]:
    """Yield lines with the digest of a world for each kind of names."""
    for names in ("natural", "opaque"):
        yield f"{names} {_digest([generator.text(World('0123456789abcdef', 200, names))])}"


def _digest(values: Iterable[object]) -> str:
    found = hashlib.sha256()
    for value in values:
        found.update(repr(value).encode())
    return found.hexdigest()[:16]


def _verdicts(name: str) -> Iterator[object]:
    """Yield the verdicts on the reference of a case, a shorter one, and some with other words."""
    module, executor = catalogue.module(name), PlainExecutor()
    (case,) = cases(LABELS[name][0], 1)
    reference = module.reference(case)
    lines, words = reference.splitlines(), sorted(set(re.findall(r"\w{4,}", reference)))
    shorter = "\n".join([*lines[: len(lines) * 3 // 4], lines[-1]])
    changed = (reference.replace(word, f"{word}x") for word in words[:: max(len(words) // 2, 1)])
    for answer in (reference, shorter, *changed):
        yield module.judge(case, [answer], executor)
