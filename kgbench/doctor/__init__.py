# SPDX-License-Identifier: Apache-2.0
"""What is there, what is missing and what is broken; nothing is changed, nobody is asked for money.

One module looks at one part and gives :class:`~kgbench.doctor.conditions.Condition` after
condition. What is missing says how to get it. Of a key only the name of its variable is ever known
here: no function returns a value.
"""

from __future__ import annotations

from collections.abc import Iterator

from kgbench.doctor.conditions import Condition, State

__all__ = ["Condition", "State", "examine"]


def examine(location: str, *, network: bool = False) -> Iterator[Condition]:
    """Everything that can be looked at, with the store at ``location``.

    Without ``network`` no server is asked, the one of a remote store included; with it, those that
    ``location`` and the environment name, and no others.
    """
    from kgbench.doctor import files, installed, judging, keys, storage

    yield from installed.software()
    yield from installed.dependencies()
    yield from installed.extras()
    yield from keys.known()
    if network:
        yield from keys.servers()
    yield from storage.store(location, network=network)
    yield from files.data_sets()
    yield from files.pages()
    yield from judging.task_classes()
    yield from judging.lockdown()
    yield from judging.judging()
