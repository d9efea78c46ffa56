# SPDX-License-Identifier: Apache-2.0
"""Putting declared faults into texts that are correct."""

from __future__ import annotations

from kgbench.errors import ResourceError


def put_in(text: str, find: str, put: str, of: str) -> str:
    """``text`` with ``put`` in the place of ``find``, which must occur in it exactly once.

    Raises :class:`~kgbench.errors.ResourceError` where it does not; ``of`` says in the message
    which fault that is.
    """
    if text.count(find) != 1:
        raise ResourceError(f"{of} fits {text.count(find)} places of its text instead of one")
    return text.replace(find, put)
