# SPDX-License-Identifier: Apache-2.0
"""Each fault in the files of a published folder is found; an intact folder has none."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyoxigraph as ox

from kgbench.publish.checks import Verdict, check
from kgbench.vocab import BASE as DECLARED
from kgbench.vocab import DCAT, DCTERMS, DQV, IT6, PROV, SPDX, VOID
from tests.publish.checks.conftest import rounds
from tests.publish.checks.published_folder import BASE, NAMES, SUMS, Copy

Change = Callable[[Copy], None]
CATALOG, VOID_FILE, PAGE = "catalog.ttl", "void.ttl", "index.html"
EXECUTION = "run/1/oracle/Spell-10"
DUMP, WHOLE = "data/other.nq.zst", "data/all.nq.zst"
SHAPE = "shapes/published#"
DATASET, IANA = f"{BASE}#dataset", "https://www.iana.org/assignments/media-types/"


def unsaid(predicate: str, subject: str | None = None, name: str = CATALOG) -> Change:
    """Return the change that removes a property, of all subjects or one."""

    def change(triple: ox.Triple) -> ox.Triple | None:
        other = subject is not None and triple.subject.value != subject
        return triple if other or triple.predicate.value != predicate else None

    return lambda copy: copy.state(name, change)


def said(predicate: str, value: str, subject: str, name: str = CATALOG) -> Change:
    """Return the change that gives a property of one subject another value of the same kind."""

    def change(triple: ox.Triple) -> ox.Triple:
        if (triple.subject.value, triple.predicate.value) != (subject, predicate):
            return triple
        old = triple.object
        new = (
            ox.NamedNode(value)
            if isinstance(old, ox.NamedNode)
            else ox.Literal(value, datatype=old.datatype)
        )
        return ox.Triple(triple.subject, triple.predicate, new)

    return lambda copy: copy.state(name, change)


def without(name: str, pattern: str) -> Change:
    """Return the change that removes the matches of a pattern from a file."""

    def change(copy: Copy) -> None:
        text = copy.text(name)
        less = re.sub(pattern, "", text)
        assert less != text, f"nothing in {name} matches {pattern}"
        copy.write(name, less)

    return change


def removed(name: str) -> Change:
    """Return the change that removes a file."""
    return lambda copy: copy.remove(name)


def added(name: str, text: str) -> Change:
    """Return the change that appends a text to a file."""
    return lambda copy: copy.write(name, copy.text(name) + text)


def wrong_checksum(copy: Copy) -> None:
    """Replace the checksum of a dump in the catalogue."""
    line = next(line for line in copy.text(SUMS).splitlines() if line.endswith(DUMP))
    said(SPDX.checksumValue, "0" * 64, f"{BASE}version/1#sha256-{line[:64]}")(copy)


#: Each fault: its change, and the constraint and file to report.
FAULTS: dict[str, tuple[Change, str, str]] = {
    "no licence": (unsaid(DCTERMS.license, DATASET), SHAPE + "Dataset MinCount", CATALOG),
    "licence unknown to machines": (said(DCTERMS.license, "https://example.org/mine", DATASET),
                                    "recomputed", CATALOG),
    "no licence of a dump": (unsaid(DCTERMS.license, BASE + DUMP), SHAPE + "Distribution MinCount",
                             CATALOG),
    "no publisher": (unsaid(DCTERMS.publisher), SHAPE + "Catalogue MinCount", CATALOG),
    "no collection date": (unsaid(IT6.collectionDate), SHAPE + "Dataset MinCount", CATALOG),
    "no access rights": (unsaid(DCTERMS.accessRights), "recomputed", CATALOG),
    "no landing page told": (unsaid(DCAT.landingPage), "recomputed", CATALOG),
    "no keywords": (unsaid(DCAT.keyword), "recomputed", CATALOG),
    "no provenance of it all": (unsaid(PROV.wasGeneratedBy), "recomputed", CATALOG),
    "no standard": (unsaid(DCTERMS.conformsTo, DATASET), "recomputed", CATALOG),
    "no type": (unsaid(DCTERMS.type, DATASET), "recomputed", CATALOG),
    "no vocabularies": (unsaid(VOID.vocabulary, name=VOID_FILE), "recomputed", VOID_FILE),
    "no number of triples": (unsaid(VOID.triples, DATASET, VOID_FILE), SHAPE + "Counted MinCount",
                             CATALOG),
    "no downloads": (unsaid(DCAT.downloadURL), "recomputed", CATALOG),
    "no quality": (unsaid(DQV.value),
                   SHAPE + "QualityMeasurement MinCount", CATALOG),
    "no catalogue": (removed(CATALOG), "catalogue", CATALOG),
    "endpoint without address": (unsaid(DCAT.endpointURL), SHAPE + "DataService MinCount", CATALOG),
    "wrong media type": (said(DCAT.mediaType, IANA + "application/pdf", BASE + DUMP), "recomputed",
                         CATALOG),
    "wrong packing": (said(DCAT.compressFormat, IANA + "application/gzip", BASE + DUMP),
                      "recomputed", CATALOG),
    "wrong size": (said(DCAT.byteSize, "7", BASE + DUMP), "recomputed", CATALOG),
    "wrong checksum in the catalogue": (wrong_checksum, "recomputed", CATALOG),
    "wrong checksum in the list": (
        lambda copy: copy.replace(SUMS, copy.text(SUMS).split(f"  {DUMP}")[0][-64:], "0" * 64),
        "checksum", DUMP),
    "damaged dump": (
        lambda copy: copy.write(DUMP, (copy.path / DUMP).read_bytes()[:-40], counted=False),
        "readable", DUMP),
    "other dump": (lambda copy: copy.dump(DUMP, lambda held: held + b"# more\n", counted=False),
                   "checksum", DUMP),
    "dumps that differ": (lambda copy: copy.dump(WHOLE, lambda held: held.split(b"\n")[0] + b"\n"),
                          "recomputed", WHOLE),
    "dump without canary": (lambda copy: copy.dump(DUMP, lambda held: held.split(b"\n", 1)[1]),
                            "recomputed", WHOLE),
    "no list of canaries": (removed("canary.txt"), "recomputed", "canary.txt"),
    "no rules for crawlers": (removed("robots.txt"), "recomputed", "robots.txt"),
    "missing query": (removed("queries/list-tasks.rq"), "checksum", "queries/list-tasks.rq"),
    "file that nobody lists": (lambda copy: copy.write("queries/extra.rq", ""), "checksum",
                               "queries/extra.rq"),
    "dead link": (added(PAGE, '<a href="run/nowhere/">lost</a>'), "dead-link", PAGE),
    "link to no place": (added(PAGE, '<a href="ns/#dragon">lost</a>'), "dead-link", PAGE),
    "link for one address": (added(PAGE, '<a href="/run/">lost</a>'), "dead-link", PAGE),
    "version that is not there": (said(DCAT.hasVersion, f"{BASE}version/0", DATASET), "recomputed",
                                  CATALOG),
    "no embedded metadata": (without(PAGE, r"(?s)<script[^>]*ld\+json.*?</script>"), "recomputed",
                             PAGE),
    "no measured variables": (without(PAGE, '"variableMeasured"[^]]*],'), "recomputed", PAGE),
    "no typed links": (without(PAGE, '<link rel="(?:alternate|describedby)"[^>]*>'), "recomputed",
                       PAGE),
    "no landing page": (removed(PAGE), "recomputed", PAGE),
    "no index of texts": (removed("run/1/text/4/index.html"), "unresolved", "data/run-1.nq.zst"),
    "execution without documents": (
        lambda copy: [removed(f"{EXECUTION}{end}")(copy)
                      for end in ("/index.html", ".ttl")] and None,
        "unresolved", "data/run-1.nq.zst"),
    "key on a page": (added(PAGE, "<!-- sk-abcdefghijklmnopqrstuvwxyz -->"), "secret", PAGE),
    "host on a page": (added(PAGE, "<!-- made on dragonhost -->"), "private", PAGE),
}  # fmt: skip


def short(constraint: str) -> str:
    """Return the short name of a constraint, as in the table."""
    return constraint.removeprefix(DECLARED)


def test_whole_folder_has_no_faults(site: Path) -> None:
    """A published folder passes every check."""
    report = check(site, names=NAMES)
    assert [str(fault) for fault in report.faults] == []
    assert {entry.verdict for entry in report.entries} == {Verdict.PASSED}


def test_faults_are_found_beside_each_other(copy: Copy) -> None:
    """All faults of a folder are reported together, except those that others hide."""

    def told(names: list[str]) -> set[str]:
        for name in names:
            # A removed file can have no other fault.
            with suppress(AssertionError, OSError, StopIteration):
                FAULTS[name][0](copy)
        faults = check(copy.path, names=NAMES).faults
        copy.mend()
        assert all(fault.remedy for fault in faults)
        found = {(short(fault.constraint), fault.file) for fault in faults}
        return {name for name in names if FAULTS[name][1:] in found}

    assert rounds(FAULTS, told) < 6


def test_fault_in_a_dump_names_the_dump(copy: Copy) -> None:
    """A fault in the graphs of a folder is reported with the file that contains them."""
    model = b"ns#model> <https://w3id.org/kgbench/model/"
    copy.dump(DUMP, lambda held: b"\n".join(x for x in held.split(b"\n") if model not in x))
    report = check(copy.path, names=NAMES)
    assert DUMP in {fault.file for fault in report.faults if fault.constraint == "ic-11"}
