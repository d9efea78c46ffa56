# SPDX-License-Identifier: Apache-2.0
"""Insertion of declared faults into correct texts."""

from __future__ import annotations

from kgbench.errors import ResourceError


def insert_fault(text: str, find: str, put: str, fault_name: str) -> str:
    """Replace ``find``, which must occur in ``text`` exactly once, by ``put``.

    Raises :class:`~kgbench.errors.ResourceError`, with ``fault_name`` in the message, if it does
    not.
    """
    if text.count(find) != 1:
        raise ResourceError(
            f"{fault_name} fits {text.count(find)} places of its text instead of one"
        )
    return text.replace(find, put)
