# SPDX-License-Identifier: Apache-2.0
"""API keys, read from the environment or from the key ring of the system."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterable, Iterator

from kgbench.errors import ModelSpecError, pip_install
from kgbench.model import ModelSetup
from kgbench.secrets import surplus_of_key

SERVICE = "kgbench"  # the service name in the key ring; user names are those of the variables

_in_use: set[str] = set()
_allowed: set[str] = set()  # variables


@contextlib.contextmanager
def allowed(*variables: str) -> Iterator[None]:
    """Permit that the secrets in these variables are sent wherever a specification says."""
    added = set(variables) - _allowed
    _allowed.update(added)
    try:
        yield
    finally:
        _allowed.difference_update(added)


def is_allowed(variable: str) -> bool:
    """Return whether the secret in ``variable`` is :func:`allowed`."""
    return variable in _allowed


def find_key(setup: ModelSetup, *variables: str, needed: bool) -> str | None:
    """Return the first key found for ``variables``, without surrounding blanks.

    The environment takes precedence over the key ring, which is used if the package ``keyring`` is
    installed. Raises :class:`~kgbench.errors.ModelSpecError` if a key is ``needed`` and there is
    none, or if it cannot be sent in an HTTP header as it is.
    """
    reason = ""
    for read in (_of_environment, _of_key_ring):
        for variable in variables:
            key, failure = read(variable)
            if key:
                return _alone(key, variable)
            reason = failure or reason
    if needed:
        raise ModelSpecError(
            f"{setup.spec} needs a key: set the environment variable {' or '.join(variables)}, "
            f"or keep it in a key ring (keyring set {SERVICE} {variables[0]}){reason}"
        )
    return None


def of_variables(variables: Iterable[str], *, alone: bool = False) -> dict[str, str]:
    """Return the keys for all ``variables``, by name; with ``alone``, nothing may surround a key.

    Raises :class:`~kgbench.errors.ModelSpecError` for a variable without a key, or with a key that
    cannot be sent in an HTTP header.
    """
    keys: dict[str, str] = {}
    for variable in variables:
        key = _held(variable)
        if not key:
            raise ModelSpecError(
                f"the environment variable {variable}, which a tool server needs, is not set"
            )
        keys[variable] = _alone(key, variable) if alone else _checked(key, variable)
    return keys


def key_location(variable: str) -> str | None:
    """Return the location of the key for ``variable``: ``environment``, ``key ring`` or ``None``.

    Raises :class:`~kgbench.errors.ModelSpecError` if the key cannot be sent in an HTTP header.
    """
    for place, read in (("environment", _of_environment), ("key ring", _of_key_ring)):
        if key := read(variable)[0]:
            _alone(key, variable)
            return place
    return None


def keys_in_use() -> frozenset[str]:
    """Return the keys that this process has passed to connectors, to be hidden in messages."""
    return frozenset(_in_use)


def held(variables: Iterable[str]) -> frozenset[str]:
    """Return the keys that the environment or the key ring holds for ``variables``."""
    return frozenset(key for name in variables if (key := _held(name)))


def _alone(key: str, variable: str) -> str:
    """Return a key that is sent as it is; refuse one in quotes or with the scheme of a header."""
    surplus = surplus_of_key(key)
    if surplus is not None:
        raise ModelSpecError(f"the key in {variable} {surplus}: set {variable} to the key alone")
    return _checked(key, variable)


def _checked(key: str, variable: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise ModelSpecError(f"the key in {variable} holds characters that no header can carry")
    _in_use.add(key)
    return key


def _held(variable: str) -> str:
    return _of_environment(variable)[0] or _of_key_ring(variable)[0]


def _of_environment(variable: str) -> tuple[str, str]:
    return os.environ.get(variable, "").strip(), ""


def _of_key_ring(variable: str) -> tuple[str, str]:
    """Return the key in the key ring, or a phrase with the reason why it cannot be read."""
    try:
        keyring = importlib.import_module("keyring")
        errors = importlib.import_module("keyring.errors")
    except ImportError:
        return "", f"; for that the package is missing: {pip_install('kgbench[keyring]')}"
    try:
        key = keyring.get_password(SERVICE, variable)
    except errors.KeyringError as error:  # there is no key ring, or it is locked
        return "", f"; the key ring does not answer ({type(error).__name__})"
    return str(key or "").strip(), ""
