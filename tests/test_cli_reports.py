# SPDX-License-Identifier: Apache-2.0
"""What commands report besides their results: versions, progress, counts, what is not there."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shutil
import sys
import time
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import kgbench as package
from kgbench.analysis.run_totals import duration
from kgbench.cli import app, import_rdf
from kgbench.cli.progress import progress
from kgbench.engine.progress import Wait
from kgbench.errors import ResourceError
from kgbench.importers.rdf.loading import Summary
from kgbench.importers.rdf.sources import Origin
from kgbench.store import open_store
from kgbench.tasks import catalogue
from tests.analysis_store import owned
from tests.store.in_process import InProcess

SITE = ("--base", "http://example.org/results/", "--processes", "1")


def kgbench(*words, code=0, **options):
    """The result of a command in this process, which ends with ``code``."""
    done = CliRunner().invoke(app, [str(word) for word in words], **options)
    assert done.exit_code == code, (done.output, done.exception)
    return done


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """The place of a store with the scores of two models."""
    place = tmp_path_factory.mktemp("scores") / "store"
    owned("analysis_scores", str(place)).close()
    return place


# --- small things -----------------------------------------------------------------------------


def test_the_version_is_told():
    """``--version`` says the name and the version, and runs nothing."""
    assert kgbench("--version").stdout == f"kgbench {package.__version__}\n"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (59.4, "59.4 s"),
        (61, "1 min 1 s"),
        (3600, "1 h 0 min"),
        (7384, "2 h 3 min"),
    ],
)
def test_durations_have_the_units_that_fit(seconds, words):
    """Seconds below a minute, then minutes, then hours."""
    assert duration(seconds) == words


def test_a_task_class_that_cannot_be_used_is_named(monkeypatch):
    """Another package's broken task class stands on stderr; the list is that of the others."""
    monkeypatch.setattr(catalogue, "unusable", lambda: {"Theirs": "it has no folder"})
    done = kgbench("tasks", "list", "RdfFriendCount-nt-1")

    assert done.stderr == "The task class Theirs cannot be used: it has no folder\n"
    assert "RdfFriendCount-nt-1" in done.stdout


def test_an_invalidation_is_reported_as_json(scores, tmp_path):
    """Script and person get the same: what is not counted any more, and where that is recorded."""
    shutil.copytree(scores, tmp_path / "store")
    words = ("invalidate", "r1", "--reason", "a test", "--store", tmp_path / "store")
    said = json.loads(kgbench(*words, "--json").stdout)

    assert said["dialogues"] > 0
    assert "/invalidation/" in said["iri"]


# --- progress ---------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self):
        """It is."""
        return True


@pytest.mark.parametrize("total", [None, 7])
def test_on_a_terminal_progress_is_a_bar_that_goes_away(monkeypatch, total):
    """The bar shows what is done, with its note; nothing of it stays."""
    terminal, clock = Terminal(), SimpleNamespace(monotonic=lambda: 5.0)
    monkeypatch.setattr("kgbench.cli.progress.time", clock)  # which stands still meanwhile
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress("judging", total) as advance:
        advance(3, "2.0/s", total=7)
        advance(4, "too soon to be shown", total=7)
    said = terminal.getvalue()

    assert "judging" in said
    assert "3/7" in said
    assert "2.0/s" in said
    assert "too soon" not in said
    assert said.endswith("\x1b[2K")


def test_a_bar_shows_one_estimate_and_the_wait(monkeypatch):
    """The caller's estimate stands in place of the bar's own; brackets in names are no markup."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    wait = Wait("429 from 127.0.0.1:4111", time.monotonic() + 11.5)
    with progress("Rdf[ab]*", 7) as advance:
        advance(3, "2.0/s", total=7, left=75.0, wait=wait)
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())

    assert "waiting: 429 from 127.0.0.1:4111, next attempt in 12 s" in said
    assert "Rdf[ab]*" in said
    assert "1 min 15 s left" in said
    assert "0:0" not in said  # how the bar itself would tell of time
    assert "-:--" not in said.rpartition("left")[2]


def test_lines_tell_of_each_wait_once(monkeypatch, capsys):
    """A line per wait and ten seconds, but for one that lasts much longer; none of short ones."""
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("kgbench.cli.progress.time", clock)
    monkeypatch.setattr("kgbench.engine.progress.time", clock)
    with progress("run", 7) as advance:
        for now[0], until in ((0, 0.5), (1, 3), (1, 3), (3, 6), (4, 600), (20, 590), (610, 612)):
            advance(1, "0.1/s", total=7, left=90.0, wait=Wait("429 from host", until))
    said = capsys.readouterr().err.splitlines()

    assert [line for line in said if "waiting" in line] == [
        "run: waiting: 429 from host, next attempt in 2 s",
        "run: waiting: 429 from host, next attempt in 596 s",
        "run: waiting: 429 from host, next attempt in 2 s",
    ]
    assert "run: 1 of 7 0.1/s, 1 min 30 s left" in said


def test_quiet_work_says_nothing(capsys):
    """Where a report is for a script, progress is not told."""
    with progress("judging", 7, quiet=True) as advance:
        advance(3, "a note", total=7)

    assert capsys.readouterr() == ("", "")


# --- stores and queries -----------------------------------------------------------------------


def test_who_writes_to_a_server_is_told(monkeypatch):
    """``store check`` names the one writer of a store on a server."""
    with InProcess() as server, open_store(server.url):
        said = kgbench("store", "check", "--store", server.url).stdout

    assert "\nwriter   " in said
    assert said.endswith("sound\n")


def test_a_backup_is_reported_as_json(scores, tmp_path):
    """The report has every graph with its digest, and their triples in all."""
    file = tmp_path / "scores.nq.gz"
    said = json.loads(kgbench("store", "backup", file, "--store", scores, "--json").stdout)

    assert said["file"] == str(file)
    assert said["triples"] == sum(graph["triples"] for graph in said["graphs"]) > 0
    assert all(len(graph["digest"]) == 64 for graph in said["graphs"])


def test_what_a_row_does_not_bind_is_empty(scores, tmp_path):
    """A variable without a value is a dash, and makes no column of numbers a text."""
    file = tmp_path / "q.rq"
    file.write_text("SELECT ?n ?x WHERE { VALUES (?n ?x) { (1 UNDEF) (UNDEF 'b') } }")
    lines = kgbench("query", file, "--store", scores).stdout.strip().splitlines()

    assert lines[0].strip() == "2 rows"
    assert [line.split() for line in lines[-2:]] == [["1", "-"], ["-", "b"]]
    assert lines[-2].index("1") == lines[2].index("n")


def test_the_latest_pass_fills_the_parameters_of_a_query(scores):
    """A query that can read the latest pass is told to, where that is what is chosen."""
    words = ("query", "outcome-counts", "--text", "--store", scores)
    first, latest = (kgbench(*words, "--pass", name).stdout for name in ("first", "latest"))

    assert 'VALUES (?latest ?passGraph) { ("true"^^' in latest
    assert "true" not in first


def test_a_card_without_matplotlib_has_no_figures(scores, tmp_path, monkeypatch):
    """What cannot be drawn is left out; the numbers are the same."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name)
    )
    words = ("analyze", "card", "Model A", "--store", scores, "--out", tmp_path)
    written = kgbench(*words).stdout.split()

    assert {path.suffix for path in tmp_path.iterdir()} == {".md", ".html"}
    assert len(written) == 2


# --- what is not installed, what was brought --------------------------------------------------


def test_a_missing_package_of_an_export_is_named(tmp_path, monkeypatch):
    """The words name the package and the extra that brings it; nothing is written."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    done = kgbench("export", "rocrate", "--out", tmp_path / "x", "--licence", "MIT", code=1)

    assert isinstance(done.exception, ResourceError)
    assert str(done.exception) == "rocrate is not installed: pip install 'kgbench[publish]'"
    assert not list(tmp_path.iterdir())


class WithoutJinja:
    """The module that publishes, where a package is missing that it imports."""

    __spec__ = None

    def __getattr__(self, _):
        raise ModuleNotFoundError(name="jinja2")


def test_a_missing_package_of_publishing_is_named(tmp_path, monkeypatch):
    """Publishing needs an extra, which is named before anything is made."""
    monkeypatch.setitem(sys.modules, "kgbench.publish.site", WithoutJinja())
    done = kgbench("publish", "--out", tmp_path / "x", *SITE, code=1)

    assert isinstance(done.exception, ResourceError)
    assert str(done.exception) == "jinja2 is not installed: pip install 'kgbench[publish]'"
    assert not list(tmp_path.iterdir())


def test_what_an_import_found_there_already_is_told(capsys):
    """Things that grew, that were there, and that are there under another name are told apart."""
    summary = Summary(
        sources=[Origin("all.nq", "a" * 64)],
        grown=["urn:grown"],
        there=["urn:there"],
        elsewhere=[("urn:published", "urn:known")],
    )
    import_rdf._print(summary)
    lines = capsys.readouterr().out.splitlines()

    assert lines[1:4] == [
        "  grown urn:grown",
        "  there urn:there",
        "  there urn:published (as urn:known)",
    ]
