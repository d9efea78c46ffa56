# SPDX-License-Identifier: Apache-2.0
"""Checks of protected suites, canaries, and rules for crawlers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyoxigraph as ox

from kgbench.errors import PublicationRefused
from kgbench.publish import file_reading
from kgbench.publish.checks import constraints
from kgbench.publish.checks.publication_files import PublicationFiles, suites
from kgbench.publish.checks.report import Fault
from kgbench.publish.redaction import parse_json
from kgbench.validation.components import term_text
from kgbench.vocab import KGB, SKOS

_CANARY, _NOTATION = ox.NamedNode(KGB.canary), ox.NamedNode(SKOS.notation)
_SUITE, _CASE_DATA = ox.NamedNode(KGB.suite), ox.NamedNode(KGB.caseData)
_AGAIN = "Publish again."
_WITHHOLD = "Publish with --redact prompts, or name the suite with --unprotected."
#: Fields of a protected suite's case data that identify the case and may be in the clear.
_IDENTITY = frozenset(
    ("uid", "taskUid", "graphFormat", "kgInfoFormat", "kgInfoType", "graphName", "version", "n")
)


def check(published: PublicationFiles, allowed: Collection[str] = ()) -> Iterator[Fault]:
    """Yield published texts of protected suites, except those ``allowed`` by their notation."""
    data = published.data
    protected = {}
    for suite in suites(published, protected=True):
        notation = next((v.value for v in data.values(suite, _NOTATION)), suite.value)
        if notation not in allowed:
            protected[suite] = notation
    if not protected:
        return
    for constraint in constraints.group("leakage").values():
        messages = {constraint.message.replace("?found", term_text(suite)) for suite in protected}
        for fault in constraint.faults(published.quads, published.file_of):
            if fault.message in messages and not _sealed(fault.file):
                yield fault
    for suite, notation in protected.items():
        for quad in published.quads.quads_for_pattern(None, _SUITE, suite):
            yield from _case(published, quad.subject, notation)


def marks(published: PublicationFiles) -> Iterator[Fault]:
    """Yield missing canaries, and missing rules for crawlers."""
    if "user-agent" not in published.text("robots.txt").lower():
        yield Fault("robots", "", "robots.txt", "There are no rules for crawlers.", _AGAIN)
    canaries = {
        value.value
        for suite in suites(published, protected=False)
        for value in published.data.values(suite, _CANARY)
    }
    for name in ("canary.txt", "index.html"):
        text = published.text(name)
        for canary in sorted(canaries):
            if canary not in text:
                yield Fault("canary", "", name, f"The canary {canary} is missing.", _AGAIN)
    for path in published.files_in("data"):
        if file_reading.parts(path)[0] != ".nq":
            continue
        try:
            line = file_reading.first_line(path, published.password)
        except (PublicationRefused, file_reading.Unreadable):
            continue  # reported among the unreadable files
        if canaries and not any(canary in line for canary in canaries):
            message = "The first line does not contain the canary of a suite."
            yield Fault("canary", "", published.name(path), message, _AGAIN)


def _sealed(file: str) -> bool:
    """Return whether a file is encrypted, and therefore reveals nothing."""
    return file.endswith(".zip")


def _case(published: PublicationFiles, case: Any, notation: str) -> Iterator[Fault]:
    for value in published.data.values(case, _CASE_DATA):
        clear = sorted(_in_the_clear(value.value))
        file = published.file_of(case) if clear else ""
        if clear and not _sealed(file):
            message = f"It reveals {', '.join(clear)} of a case of the protected suite {notation}."
            yield Fault("protected-case", case.value, file, message, _WITHHOLD)


def _in_the_clear(text: str) -> Iterator[str]:
    data = parse_json(text)
    if not isinstance(data, dict):
        yield "all"
    else:
        for name, value in data.items():
            if name not in _IDENTITY and value is not None:
                yield name
