# SPDX-License-Identifier: Apache-2.0
"""Exports a run as an RO-Crate 1.3 (Process Run Crate 0.5): files, and the actions that made them.

The run is an action of the software that conducted the dialogues, with its configurations as
objects; each evaluation pass is an action of the judging software, with the answers as object.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from kgbench.api import KGB, RDFS, OutgoingRun
from kgbench.plugins.exchange.tables import atomic_path, scores_csv, statements
from kgbench.publish.settings import Agent
from kgbench.rdf import digest
from kgbench.vocab import PROV, SCHEMA

PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
VERSION = "1.3"  # of RO-Crate

_COMPLETED = "http://schema.org/CompletedActionStatus"
_HOME = "https://w3id.org/kgbench/"
_SYNTAXES = {
    ".nq": ("application/n-quads", "https://www.w3.org/TR/n-quads/", "RDF 1.1 N-Quads"),
    ".ttl": ("text/turtle", "https://www.w3.org/TR/turtle/", "RDF 1.1 Turtle"),
    ".csv": ("text/csv", "https://www.rfc-editor.org/rfc/rfc4180", "Comma-separated values"),
}


def write(run: OutgoingRun, out: Path, licence: str, creators: Sequence[Agent]) -> int:
    """Write the crate to the folder ``out``, or to an archive if the name ends in ``.zip``.

    ``licence`` is an IRI. Returns the number of files. Raises
    :class:`~kgbench.errors.PublicationRefused` if ``out`` already exists or cannot be written.
    """
    with atomic_path(out) as crate, tempfile.TemporaryDirectory(prefix="kgbench-crate-") as scratch:
        builder = _Crate(run, Path(scratch), licence, creators)
        if out.suffix == ".zip":
            builder.crate.write_zip(crate)
        else:
            builder.crate.write(crate)
    return builder.files


class _Crate:
    def __init__(
        self, run: OutgoingRun, scratch: Path, licence: str, creators: Sequence[Agent]
    ) -> None:
        from rocrate.rocrate import ROCrate

        self.crate = ROCrate(version=VERSION)
        self.files = 0
        self._run = run
        self._scratch = scratch
        self._people = [
            self._entity(
                agent.iri or f"#creator-{digest(agent.name)[:12]}", "Person", name=agent.name
            )
            for agent in creators
        ]
        self._describe(licence)
        results = self._file("results.nq", statements(run), "Dialogues and evaluations")
        scores = self._file("scores.csv", scores_csv(run), "Scores, one row for each")
        actions = [self._run_action(results), *self._pass_actions(results, scores)]
        kinds = ["CreativeWork", "Profile"]
        profile = self._entity(PROFILE, kinds, name="Process Run Crate", version="0.5")
        self.crate.root_dataset["conformsTo"] = profile
        self.crate.root_dataset["mentions"] = _plain(actions)

    def _describe(self, licence: str) -> None:
        run, crate = self._run, self.crate
        crate.name = f"Results of the run {run.info.label}"
        crate.description = (
            f"{len(run.dialogues)} dialogues of language models about knowledge graphs, with every "
            f"score and how it came about ({run.info.iri})."
        )
        crate.license = self._entity(
            licence, "CreativeWork", name=licence, description="The licence of the data."
        )
        if self._people:
            crate.creator = _plain(self._people)
            crate.root_dataset["author"] = _plain(self._people)

    def _entity(self, iri: str, kind: str | list[str], **properties: Any) -> Any:
        from rocrate.model.contextentity import ContextEntity

        known = self.crate.dereference(iri)
        typed = {"@type": kind, **properties}
        return known or self.crate.add(ContextEntity(self.crate, iri, properties=typed))

    def _file(self, name: str, content: bytes, title: str) -> Any:
        self.files += 1
        (self._scratch / name).write_bytes(content)
        media, iri, language = _SYNTAXES[Path(name).suffix]
        properties = {
            "name": title,
            "description": f"{title} of the run {self._run.info.label}.",
            "encodingFormat": [media, self._entity(iri, ["WebPage", "Standard"], name=language)],
            "contentSize": str(len(content)),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        return self.crate.add_file(self._scratch / name, name, properties=properties)

    def _software(self, iris: Iterable[str]) -> list[Any]:
        catalogue = self._run.catalogue
        return [
            self._entity(
                iri,
                "SoftwareApplication",
                name=catalogue.value(iri, RDFS.label) or iri,
                softwareVersion=(
                    version := catalogue.value(iri, SCHEMA.softwareVersion) or "unknown"
                ),
                version=version,
                url=_HOME,
            )
            for iri in sorted(set(iris))
        ]

    def _action(self, iri: str, name: str, started: datetime, ended: datetime | None) -> Any:
        """Add an action; without a recorded end, it is not marked as completed."""
        action = self._entity(
            iri,
            "CreateAction",
            name=name,
            description=f"{name}; the run is {self._run.info.iri}.",
            startTime=started.isoformat(timespec="milliseconds"),
        )
        if ended is not None:
            action["actionStatus"] = _COMPLETED
            action["endTime"] = ended.isoformat(timespec="milliseconds")
        if self._people:
            action["agent"] = _plain(self._people)
        return action

    def _run_action(self, results: Any) -> Any:
        run, statements = self._run, self._run.statements
        configurations = [
            self._file(
                f"configuration-{digest(iri)[:12]}.ttl",
                statements.required(iri, PROV.value).encode("utf-8"),
                "Configuration",
            )
            for iri in statements.instances(KGB.Configuration)
        ]
        activities = [run.info.iri, *statements.instances(KGB.Session)]
        agents = [a for iri in activities for a in statements.values(iri, PROV.wasAssociatedWith)]
        action = self._action(
            run.info.iri,
            f"{len(run.dialogues)} dialogues with language models",
            run.info.started,
            run.info.ended or _last_end(run),
        )
        models = self._software(dialogue.model for dialogue in run.dialogues)
        action["instrument"] = _plain([*self._software(agents), *models])
        action["object"] = _plain(configurations)
        action["result"] = results
        return action

    def _pass_actions(self, results: Any, scores: Any) -> Iterator[Any]:
        for pass_ in self._run.passes:
            action = self._action(
                pass_.iri,
                f"Evaluation of answers ({pass_.kind})",
                pass_.started,
                pass_.ended or (_last_end(self._run) if pass_.kind == "live" else None),
            )
            agents = self._run.judged.values(pass_.iri, PROV.wasAssociatedWith)
            action["instrument"] = _plain(self._software(agents))
            action["object"] = results
            action["result"] = scores
            yield action


def _plain(values: list[Any]) -> Any:
    """Return a single value by itself, several as a list, as RO-Crate requires."""
    return values[0] if len(values) == 1 else values


def _last_end(run: OutgoingRun) -> datetime | None:
    """Return the end of the last dialogue of a run; ``None`` if a dialogue is incomplete."""
    ends = [dialogue.ended for dialogue in run.dialogues]
    return max((end for end in ends if end is not None), default=None) if all(ends) else None
