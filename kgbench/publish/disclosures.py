# SPDX-License-Identifier: Apache-2.0
"""Disclosure of what a publication left out: the nonces and values behind its commitments.

A disclosure is a file with a line of JSON for each value: ``commitment``, ``nonce`` and ``value``.
It can be checked against the publication, and reveals nothing about other values.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgbench.errors import PublicationRefused, ResourceError
from kgbench.pages.snapshot import View
from kgbench.publish.quad_redaction import QuadRedactor
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.redaction_rules import prepare_rules
from kgbench.secrets.commitments import Opening, commitment
from kgbench.store import fragments


def collect_openings(
    view: View, location: str, level: RedactionLevel, wanted: Collection[str]
) -> list[Opening]:
    """Return the openings of what publications of a store at ``level`` leave out.

    ``wanted`` are commitments, or published IRIs (their paths suffice) of things, for everything
    that is left out of their descriptions; all openings if empty. Raises
    :class:`~kgbench.errors.PublicationRefused` if nothing is left out at one of them, and for
    values that contain a key.
    """
    rules, addresses = prepare_rules(view, location, view.iris.base, level)
    record: dict[str, Opening] = {}
    rules = rules._replace(commitments=replace(rules.commitments, record=record))
    outgoing = QuadRedactor(view.database, addresses, rules)
    openings: dict[str, Opening] = {}
    paths = {iri: fragments.recorded_iri(iri) for iri in wanted}
    matched: set[str] = set()
    for graph in sorted({str(node).strip("<>") for node in view.database.named_graphs()}):
        for quads in outgoing.graph(graph):
            subject = str(getattr(quads[0].subject, "value", ""))
            path = subject.removeprefix(view.iris.base)
            subjects = {
                iri
                for iri, wanted_path in paths.items()
                if wanted_path == path or wanted_path.endswith(f"/{path}")
            }
            chosen = set(record) if not wanted or subjects else record.keys() & set(wanted)
            matched |= chosen | (subjects if chosen else set())
            openings |= {name: record[name] for name in chosen}
            record.clear()
    missing = sorted(set(wanted) - matched)
    if missing:
        raise PublicationRefused(
            f"nothing is left out at {missing[0]}: name commitments or IRIs of the publication, "
            "and set --redact to the level at which it was made"
        )
    leaking = next((o for o in openings.values() if rules.scrubber.tells(o.value)), None)
    if leaking is not None:
        raise PublicationRefused(f"the value behind {leaking.commitment} contains a key")
    return sorted(openings.values())


def serialise(openings: Iterable[Opening]) -> str:
    """Serialise openings as lines of JSON."""
    return "".join(json.dumps(opening._asdict(), ensure_ascii=False) + "\n" for opening in openings)


def read(path: Path) -> Iterator[Opening]:
    """Yield the openings in a file.

    Raises :class:`~kgbench.errors.ResourceError` if it is not a disclosure.
    """
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            fields: dict[str, Any] = json.loads(line)
            opening = Opening(*(str(fields[name]) for name in Opening._fields))
            bytes.fromhex(opening.nonce)
            yield opening
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ResourceError(f"{path} is not a disclosure: {error}") from error


def is_valid(opening: Opening) -> bool:
    """Return whether the value and the nonce of an opening give its commitment."""
    return commitment(opening.nonce, opening.value) == opening.commitment
