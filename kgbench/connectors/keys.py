# SPDX-License-Identifier: Apache-2.0
"""Keys: from the environment or the key ring of the system, for one host, and nowhere else."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable

from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup

SERVICE = "kgbench"  # under which a key ring has them, each by the name of its variable

_given: set[str] = set()


def found(setup: ModelSetup, *variables: str, needed: bool) -> str | None:
    """The first key found for ``variables``, without surrounding blanks.

    The environment goes before the key ring, which is asked where the package ``keyring`` is
    installed. Raises :class:`~kgbench.errors.ModelSpecError` when none has one and a key is
    ``needed``, or when one cannot be sent in a header.
    """
    for variable in variables:
        key = os.environ.get(variable, "").strip()
        if key:
            return _usable(key, variable)
    silent = ""
    for variable in variables:
        key, failure = _of_key_ring(variable)
        if key:
            return _usable(key, variable)
        silent = failure or silent
    if needed:
        raise ModelSpecError(
            f"{setup.spec} needs a key: set the environment variable {' or '.join(variables)}, "
            f"or keep it in a key ring (keyring set {SERVICE} {variables[0]}){silent}"
        )
    return None


def of_variables(variables: Iterable[str]) -> dict[str, str]:
    """The keys for all ``variables``, by name.

    Raises :class:`~kgbench.errors.ModelSpecError` for a variable without a key, or with one that
    cannot be sent in a header.
    """
    keys: dict[str, str] = {}
    for variable in variables:
        key = os.environ.get(variable, "").strip() or _of_key_ring(variable)[0]
        if not key:
            raise ModelSpecError(
                f"the environment variable {variable}, which a tool server needs, is not set"
            )
        keys[variable] = _usable(key, variable)
    return keys


def place(variable: str) -> str | None:
    """Where there is a key for ``variable``: ``environment``, ``key ring``, or ``None``.

    Raises :class:`~kgbench.errors.ModelSpecError` when it cannot be sent in a header.
    """
    key = os.environ.get(variable, "").strip()
    if key:
        _usable(key, variable)
        return "environment"
    key, _ = _of_key_ring(variable)
    if key:
        _usable(key, variable)
        return "key ring"
    return None


def given() -> frozenset[str]:
    """The keys that this process has handed to connectors: never to be said."""
    return frozenset(_given)


def _usable(key: str, variable: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise ModelSpecError(f"the key in {variable} holds characters that no header can carry")
    _given.add(key)
    return key


def _of_key_ring(variable: str) -> tuple[str, str]:
    """The key in the key ring, or the words for why that does not tell."""
    try:
        keyring = importlib.import_module("keyring")
        errors = importlib.import_module("keyring.errors")
    except ImportError:
        return "", "; for that the package is missing: pip install 'kgbench[keyring]'"
    try:
        key = keyring.get_password(SERVICE, variable)
    except errors.KeyringError as error:  # none on this system, or locked
        return "", f"; the key ring does not answer ({type(error).__name__})"
    return str(key or "").strip(), ""
