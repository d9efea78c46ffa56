# SPDX-License-Identifier: Apache-2.0
"""Disclosing what a publication left out: the nonces and values behind its commitments.

A disclosure is a file of JSON, a line for each value, with ``commitment``, ``nonce`` and ``value``.
Anybody can check it against the publication, and it tells nothing of other values.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgbench.errors import PublicationRefused, ResourceError
from kgbench.pages.snapshot import View
from kgbench.publish.learning import prepared
from kgbench.publish.outgoing import Outgoing
from kgbench.publish.withholding import Level
from kgbench.secrets.commitments import Opening, commitment
from kgbench.store import fragments


def disclosed(view: View, location: str, level: Level, wanted: Collection[str]) -> list[Opening]:
    """The openings of what publications of a store at ``level`` leave out.

    ``wanted`` are commitments, or published IRIs (their paths are enough) of things with all that
    is left out of what is said of them; all openings where it is empty. Raises
    :class:`~kgbench.errors.PublicationRefused` for one that nothing is left out of, and for values
    that hold a key.
    """
    rules, addresses = prepared(view, location, view.iris.base, level)
    record: dict[str, Opening] = {}
    rules = rules._replace(commitments=replace(rules.commitments, record=record))
    outgoing = Outgoing(view.database, addresses, rules)
    found: dict[str, Opening] = {}
    paths = {one: fragments.recorded(one) for one in wanted}
    met: set[str] = set()
    for graph in sorted({str(one).strip("<>") for one in view.database.named_graphs()}):
        for quads in outgoing.graph(graph):
            subject = str(getattr(quads[0].subject, "value", ""))
            path = subject.removeprefix(view.iris.base)
            whole = {one for one, it in paths.items() if it == path or it.endswith(f"/{path}")}
            chosen = set(record) if not wanted or whole else record.keys() & set(wanted)
            met |= chosen | (whole if chosen else set())
            found |= {name: record[name] for name in chosen}
            record.clear()
    missing = sorted(set(wanted) - met)
    if missing:
        raise PublicationRefused(
            f"nothing is left out at {missing[0]}: name commitments or IRIs of the publication, "
            "and by --redact the level at which it was made"
        )
    telling = next((o for o in found.values() if rules.scrubber.tells(o.value)), None)
    if telling is not None:
        raise PublicationRefused(f"the value behind {telling.commitment} holds a key")
    return sorted(found.values())


def written(openings: Iterable[Opening]) -> str:
    """A disclosure as a file has it."""
    return "".join(json.dumps(one._asdict(), ensure_ascii=False) + "\n" for one in openings)


def read(path: Path) -> Iterator[Opening]:
    """The openings in a file.

    Raises :class:`~kgbench.errors.ResourceError` where it is no disclosure.
    """
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            said: dict[str, Any] = json.loads(line)
            made = Opening(*(str(said[name]) for name in Opening._fields))
            bytes.fromhex(made.nonce)
            yield made
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ResourceError(f"{path} is no disclosure: {error}") from error


def holds(opening: Opening) -> bool:
    """Whether a value is the one that was committed to."""
    return commitment(opening.nonce, opening.value) == opening.commitment
