# SPDX-License-Identifier: Apache-2.0
"""Detection of task classes whose encrypted files no available key can decrypt."""

from __future__ import annotations

from pathlib import Path

from kgbench.tasks import catalogue, encryption, keys


def missing_key(class_name: str) -> str | None:
    """Return a message about a task class's missing key, or ``None`` if all files are readable."""
    known_fingerprints = {encryption.fingerprint(key) for key in keys.available_keys()}
    for path in sorted(catalogue.folder(class_name).rglob(f"*{encryption.SUFFIX}")):
        fingerprint = _fingerprint(path)
        if fingerprint is not None and fingerprint not in known_fingerprints:
            return encryption.no_key(str(path), fingerprint)
    return None


def _fingerprint(path: Path) -> str | None:
    """Return the fingerprint of the key with which a file was encrypted."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return encryption.wanted_key([file.readline().rstrip("\n") for _ in range(2)])
