# SPDX-License-Identifier: Apache-2.0
"""Which task classes cannot be used because no key at hand opens their files."""

from __future__ import annotations

from pathlib import Path

from kgbench.tasks import catalogue, keys, sealing


def why_sealed(class_name: str) -> str | None:
    """What is missing to read the files of a task class; ``None`` where nothing is."""
    known = {sealing.fingerprint(key) for key in keys.known()}
    for path in sorted(catalogue.folder(class_name).rglob(f"*{sealing.SUFFIX}")):
        wanted = _wanted(path)
        if wanted is not None and wanted not in known:
            return sealing.no_key(str(path), wanted)
    return None


def _wanted(path: Path) -> str | None:
    """The fingerprint of the key that a file was encrypted with."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return sealing.wanted_key([file.readline().rstrip("\n") for _ in range(2)])
