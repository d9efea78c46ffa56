# SPDX-License-Identifier: Apache-2.0
"""Thirty ways of tampering with a publication are found, even if checksums are renewed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kgbench.errors import ResourceError
from kgbench.publish.checks import Report, check
from kgbench.publish.checks.report import Entry, Fault
from tests.publish.checks.conftest import rounds
from tests.publish.checks.published_folder import NAMES, SUMS, VEIL, Copy

Change = Callable[[Copy], None]
DIALOGUE = VEIL.path("run/1/oracle/Spell-10/0-d1d1d1d1")
EXECUTION = DIALOGUE.rpartition("/")[0]
TURTLE, PAGE = f"{EXECUTION}.ttl", f"{EXECUTION}/index.html"
BOARD, FIGURE = "leaderboard/kgbench-1/index.html", "figures/kgbench-1-leaderboard.json"
RUN = "data/run-1.nq.zst"


def sub(name: str, pattern: str, new: str) -> Change:
    """Return the change that replaces the first match of a pattern in a text file."""

    def change(copy: Copy) -> None:
        text, count = re.subn(pattern, new, copy.text(name), count=1)
        assert count == 1, f"{name} does not hold {pattern}"
        copy.write(name, text, counted=False)

    return change


def packed(name: str, old: bytes, new: bytes) -> Change:
    """Return the change that replaces a text in a dump."""

    def change(copy: Copy) -> None:
        def changed(held: bytes) -> bytes:
            assert old in held, f"{name} does not hold {old!r}"
            return held.replace(old, new)

        copy.dump(name, changed, counted=False)

    return change


def gone(name: str) -> Change:
    """Return the change that removes a file."""
    return lambda copy: copy.remove(name)


def added(name: str, text: str) -> Change:
    """Return the change that adds a file."""

    def change(copy: Copy) -> None:
        assert not (copy.path / name).exists()
        (copy.path / name).parent.mkdir(parents=True, exist_ok=True)
        copy.write(name, text, counted=False)

    return change


#: The change, the file that must be named, and words of the message.
PLANTED: dict[str, tuple[Change, str, str]] = {
    "score in the Turtle of a dialogue": (
        sub(TURTLE, r'/f1> "[0-9.]+"', '/f1> "0.75"'), TURTLE, "0.75"),
    "score in the page of a dialogue": (sub(PAGE, r">0\.500<|>0\.5<|>1<", ">0.9<"), PAGE, "0.9"),
    "forged answer in the Turtle": (sub(TURTLE, "a-n-n-e", "a-n-n-a"), TURTLE, "a-n-n-a"),
    "forged answer in the page": (sub(PAGE, "a-n-n-e", "a-n-n-a"), PAGE, "a-n-n-a"),
    "forged answer in the dump": (packed(RUN, b"a-n-n-e", b"a-n-n-a"), PAGE, "a-n-n-a"),
    "number on the leaderboard": (sub(BOARD, r">0\.\d+<", ">0.999<"), BOARD, "0.999"),
    "number in a figure": (sub("figures/kgbench-1-leaderboard.svg", r"\d\.\d{2,}", "9.87654"),
                           "figures/kgbench-1-leaderboard.svg", "9.87654"),
    "number beside a figure": (sub(FIGURE, r'"score": [0-9.]+', '"score": 0.987'), FIGURE, "0.987"),
    "end before start in Turtle": (
        sub(TURTLE, r'endedAtTime "\d{4}', 'endedAtTime "1999'), TURTLE, "1999"),
    "dangling IRI in Turtle": (sub(TURTLE, r"case/kgbench-1/", "case/nowhere/"), TURTLE, "nowhere"),
    "relabelled model": (sub("model/oracle.ttl", r'label "[^"]+"', 'label "winner"'),
                         "model/oracle.ttl", "winner"),
    "relabelled model on its page": (sub("model/oracle/index.html", r"<h1>[^<]*", "<h1>winner"),
                                     "model/oracle/index.html", "winner"),
    "relabelled model in JSON-LD": (
        sub("model/oracle.jsonld", r'#label":\[{"@value":"[^"]+"', '#label":[{"@value":"winner"'),
        "model/oracle.jsonld", "winner"),
    "term taken from the vocabulary": (sub("ns.ttl", r"(?m)^kgb:redacted", "kgb:promise"), "ns.ttl",
                                       "promise"),
    "term taken from the page of the vocabulary": (sub("ns/index.html", 'id="Dialogue"', 'id="D"'),
                                                   "ns/index.html", "D"),
    "wrong checksum in schema.org": (sub("index.html", r'"sha256": "[0-9a-f]{64}"',
                                         f'"sha256": "{"0" * 64}"'), "index.html", "0000"),
    "wrong checksum in the catalogue": (
        sub("catalog.ttl", r'checksumValue "[0-9A-Fa-f]{64}"', f'checksumValue "{"0" * 64}"'),
        "catalog.ttl", "0000"),
    "canary taken from a page": (sub(PAGE, "canary GUID", ""), PAGE, "canary"),
    "canary taken from a dump": (packed("data/run-1.nq.zst", b"canary GUID", b""),
                                 "data/run-1.nq.zst", ""),
    "canary removed": (sub("canary.txt", r"(?s).*", ""), "canary.txt", "dumps give"),
    "robots let in": (sub("robots.txt", "Disallow", "Allow"), "robots.txt", "Allow"),
    "score in the cubes": (sub("leaderboard/kgbench-1.ttl", "kgb:mean", "kgb:median"),
                           "leaderboard/kgbench-1.ttl", "median"),
    "score in the claims": (sub("claims.ttl", "kgb:mean", "kgb:median"), "claims.ttl", "median"),
    "number of triples": (sub("void.ttl", r"void:triples \d+", "void:triples 7"), "void.ttl", "7"),
    "number of triples in JSON-LD": (
        sub("void.jsonld", r'(void#triples":\[\{[^}]*"@value":)"\d+', r'\g<1>"7'),
        "void.jsonld", "7"),
    "query behind a figure": (sub("queries/run-usage.rq", "SELECT", "SELECT DISTINCT"),
                              "queries/run-usage.rq", "DISTINCT"),
    "title of a version": (sub("version/1.ttl", r'"[^"]*ersion[^"]*"', '"other version"'),
                           "version/1.ttl", "other"),
    "script on a page": (sub(PAGE, "</body>", "<script>alert(1)</script></body>"), PAGE, "script"),
    "dialogue removed": (gone(PAGE), PAGE, "missing"),
    "dialogue invented": (added("run/1/oracle/Spell-10/9-w00000000/index.html", "<p>1.0"),
                          "run/1/oracle/Spell-10/9-w00000000/index.html", "Nothing"),
}  # fmt: skip


def renew(path: Path) -> None:
    """Write the list of checksums anew, as a tamperer would."""
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(path).as_posix()}\n"
        for file in sorted(path.rglob("*"))
        if file.is_file() and ".kgbench-publish" not in file.parts and file.name != SUMS
    ]
    (path / SUMS).unlink()
    (path / SUMS).write_text("".join(lines), encoding="utf-8")


def told(report: Report, file: str) -> list[str]:
    """Return the faults of a file."""
    return [str(fault) for fault in report.faults if fault.file == file]


def test_whatever_is_changed_is_not_what_its_checksum_says(copy: Copy) -> None:
    """All changes at once, without renewed checksums: every changed file is named."""
    for name, (change, file, _) in PLANTED.items():
        if (copy.path / file).exists() or name == "dialogue invented":
            try:
                change(copy)
            except AssertionError:  # another change has replaced the text
                continue
    report = check(copy.path, names=NAMES)
    named = {fault.file for fault in report.faults if fault.constraint == "checksum"}
    assert {file for _, file, _ in PLANTED.values()} <= named


def test_changes_are_found_although_checksums_are_renewed(copy: Copy) -> None:
    """A fault names the file and the change."""

    def found(names: list[str]) -> set[str]:
        for name in names:
            with suppress(AssertionError):  # another change has replaced the text
                PLANTED[name][0](copy)
        renew(copy.path)
        report = check(copy.path, names=NAMES)
        copy.mend()
        copy.write(SUMS, (copy.whole / SUMS).read_text(), counted=False)
        return {
            name
            for name in names
            for _, file, words in [PLANTED[name]]
            if any(words in one for one in told(report, file))
        }

    assert rounds(PLANTED, found) < 9


def test_listed_files_that_nothing_gives_rise_to_are_reported(copy: Copy) -> None:
    """Files beside those of the publication are faults if the renewed checksums list them."""
    names = ("offer.html", "mirror/index.html", "keys.jsonld")
    for name in names:
        added(name, "<p>Download the results here.")(copy)
    renew(copy.path)
    added("CNAME", "bench.example.org")(copy)  # the host's own file, which is not listed
    try:
        faults = check(copy.path, names=NAMES).faults
    finally:
        copy.write(SUMS, (copy.whole / SUMS).read_text(), counted=False)
    unexpected = {one.file for one in faults if "Nothing in the dumps" in one.message}
    assert unexpected == set(names)
    assert "CNAME" not in {one.file for one in faults}


def test_values_that_no_code_expects_are_reported(copy: Copy) -> None:
    """Values of other types end one check with a fault, and all others are made."""
    packed(RUN, b'#round> "0"', b'#round> "0.7"')(copy)
    report = check(copy.path, names=NAMES)
    [fault] = [one for one in report.faults if one.constraint == "recomputed"]
    assert fault.message.startswith("The documents cannot be made from the dumps: ")
    assert fault.message.endswith("ns#round '0.7': the store is damaged.")
    assert "links" in {entry.name for entry in report.entries}


def test_a_check_that_ends_early_is_a_fault() -> None:
    """Faults before an unexpected error are kept; errors of kgbench pass."""

    def faults(error: Exception) -> Iterator[Fault]:
        yield Fault("early", "", "a.nq", "It is wrong.", "Correct it.")
        raise error

    entry = Entry("terms", "terms are declared", faults(AttributeError("a triple has no value")))
    assert [fault.constraint for fault in entry.faults] == ["early", "incomplete"]
    assert "AttributeError: a triple has no value" in entry.faults[1].message
    with pytest.raises(ResourceError):
        Entry("terms", "terms are declared", faults(ResourceError("the shapes cannot be read")))
