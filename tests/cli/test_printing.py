# SPDX-License-Identifier: Apache-2.0
"""What commands print besides results: versions, progress, waits, counts, missing packages."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import kgbench as package
from kgbench.analysis.run_totals import duration
from kgbench.cli import app, import_
from kgbench.cli.options import Form
from kgbench.cli.printing import progress, write
from kgbench.engine.session import Wait
from kgbench.errors import ResourceError, pip_install
from kgbench.importers.rdf.loading import Summary
from kgbench.importers.rdf.sources import Origin
from kgbench.store import open_store
from kgbench.tables import Column, Kind, Table
from kgbench.tasks import catalogue
from tests.connectors import KEY
from tests.store.in_process import InProcess
from tests.support.analysis_store import owned
from tests.support.commands import kgbench
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.stores import copied

SITE = ("--base", "http://example.org/results/", "--processes", "1")
TASK = "RdfConnectionExplainStatic-turtle"


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """Return the path of a store with the scores of two models."""
    place = tmp_path_factory.mktemp("scores") / "store"
    owned("analysis_scores", str(place)).close()
    return place


# --- small things -----------------------------------------------------------------------------


def test_the_version_is_told():
    """``--version`` prints the name and the version, and runs nothing."""
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
    """A duration is in seconds below a minute, then in minutes, then in hours."""
    assert duration(seconds) == words


def test_a_task_class_that_cannot_be_used_is_named(monkeypatch):
    """A broken task class of another package is named on stderr; the others are listed."""
    monkeypatch.setattr(catalogue, "unusable", lambda: {"Theirs": "it has no folder"})
    done = kgbench("tasks", "list", "RdfFriendCount-nt-1")

    assert done.stderr == "The task class Theirs cannot be used: it has no folder\n"
    assert "RdfFriendCount-nt-1" in done.stdout


def test_an_invalidation_is_reported_as_json(scores, tmp_path):
    """JSON and text report the excluded results, and where the invalidation is recorded."""
    copied(scores, tmp_path / "store")
    words = ("invalidate", "r1", "--reason", "a test", "--store", tmp_path / "store")
    said = json.loads(kgbench(*words, "--json").stdout)

    assert said["dialogues"] > 0
    assert "/invalidation/" in said["iri"]


# --- progress ---------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """Standard error on a terminal."""

    def isatty(self):
        """Return true."""
        return True


@pytest.mark.parametrize(("colour", "shown"), [(None, "    \x1b[1mTTL\x1b[22m"), ("1", "**TTL**")])
def test_on_a_terminal_marks_are_bold(monkeypatch, colour, shown):
    """A mark takes the same width in bold as in asterisks, which stay without colour."""
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    if colour:
        monkeypatch.setenv("NO_COLOR", colour)
    columns = (Column("model", "Model"), Column("all", "All", Kind.MARK))
    write(Table("T", columns, (("**", "**TTL**"), ("**b**c", "JSON-LD"))), Form.TABLE, None)
    assert f"  **       {shown}\n  **b**c   JSON-LD\n" in terminal.getvalue()


@pytest.mark.parametrize("total", [None, 7])
def test_on_a_terminal_progress_is_a_bar_that_goes_away(monkeypatch, total):
    """The bar shows the progress with its note, and disappears at the end."""
    terminal, clock = Terminal(), SimpleNamespace(monotonic=lambda: 5.0)
    monkeypatch.setattr("kgbench.cli.printing.time", clock)  # whose animation is off meanwhile
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
    """The caller's estimate replaces that of the bar; brackets in names are not markup."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    wait = Wait("429 from 127.0.0.1:4111", time.monotonic() + 11.5)
    with progress("Rdf[ab]*", 7) as advance:
        advance(3, "2.0/s", total=7, seconds_left=75.0, wait=wait)
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())

    assert re.search(r"waiting: 429 from 127\.0\.0\.1:4111, next attempt in \d+ s", said)
    assert "Rdf[ab]*" in said
    assert "1 min 15 s left" in said
    assert "0:0" not in said  # columns in which the bar itself shows time
    assert "-:--" not in said.rpartition("left")[2]


def test_lines_tell_of_each_wait_once(monkeypatch, capsys):
    """At most one wait in ten seconds has a line (a much longer one does); short ones have none."""
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("kgbench.cli.printing.time", clock)
    monkeypatch.setattr("kgbench.engine.session.time", clock)
    with progress("run", 7) as advance:
        for now[0], until in ((0, 0.5), (1, 3), (1, 3), (3, 6), (4, 600), (20, 590), (610, 612)):
            advance(1, "0.1/s", total=7, seconds_left=90.0, wait=Wait("429 from host", until))
    said = capsys.readouterr().err.splitlines()

    assert [line for line in said if "waiting" in line] == [
        "run: waiting: 429 from host, next attempt in 2 s",
        "run: waiting: 429 from host, next attempt in 596 s",
        "run: waiting: 429 from host, next attempt in 2 s",
    ]
    assert "run: 1 of 7 0.1/s, 1 min 30 s left" in said


def test_quiet_work_says_nothing(capsys):
    """A quiet command reports no progress."""
    with progress("judging", 7, quiet=True) as advance:
        advance(3, "a note", total=7)

    assert capsys.readouterr() == ("", "")


# --- stores and queries -----------------------------------------------------------------------


def test_who_writes_to_a_server_is_told(monkeypatch):
    """``store check`` names the current writer of a store on a server."""
    with InProcess() as server, open_store(server.url):
        said = kgbench("store", "check", "--store", server.url).stdout

    assert "\nwriter   " in said
    assert said.endswith("sound\n")


def test_a_backup_is_reported_as_json(scores, tmp_path):
    """The report has every graph with its digest, and the total of triples."""
    file = tmp_path / "scores.nq.gz"
    said = json.loads(kgbench("store", "backup", file, "--store", scores, "--json").stdout)

    assert said["file"] == str(file)
    assert said["triples"] == sum(graph["triples"] for graph in said["graphs"]) > 0
    assert all(len(graph["digest"]) == 64 for graph in said["graphs"])


def test_what_a_row_does_not_bind_is_empty(scores, tmp_path):
    """An unbound variable is a dash, and does not make a column of numbers text."""
    file = tmp_path / "q.rq"
    file.write_text("SELECT ?n ?x WHERE { VALUES (?n ?x) { (1 UNDEF) (UNDEF 'b') } }")
    lines = kgbench("query", file, "--store", scores).stdout.strip().splitlines()

    assert lines[0].strip() == "2 rows"
    assert [line.split() for line in lines[-2:]] == [["1", "-"], ["-", "b"]]
    assert lines[-2].index("1") == lines[2].index("n")


def test_the_latest_pass_fills_the_parameters_of_a_query(scores):
    """``--pass latest`` fills the parameter ``latest`` of a query that has it."""
    words = ("query", "outcome-counts", "--text", "--store", scores)
    first, latest = (kgbench(*words, "--pass", name).stdout for name in ("first", "latest"))

    assert 'VALUES (?latest ?passGraph) { ("true"^^' in latest
    assert "true" not in first


# --- missing packages, imports ---------------------------------------------------------------


def test_a_missing_package_of_an_export_is_named(tmp_path, monkeypatch):
    """A missing package is named with its extra, and nothing is written."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    done = kgbench("export", "rocrate", "--out", tmp_path / "x", "--licence", "MIT", code=1)

    assert isinstance(done.exception, ResourceError)
    needed = pip_install("kgbench[publish]")
    assert str(done.exception) == f"rocrate is not installed: {needed}"
    assert not list(tmp_path.iterdir())


class WithoutJinja:
    """The publishing module without one of its packages."""

    __spec__ = None

    def __getattr__(self, _):
        raise ModuleNotFoundError(name="jinja2")


def test_a_missing_package_of_publishing_is_named(tmp_path, monkeypatch):
    """Publishing names the missing extra before any work."""
    monkeypatch.setitem(sys.modules, "kgbench.publish.site", WithoutJinja())
    done = kgbench("publish", "--out", tmp_path / "x", *SITE, code=1)

    assert isinstance(done.exception, ResourceError)
    needed = pip_install("kgbench[publish]")
    assert str(done.exception) == f"jinja2 is not installed: {needed}"
    assert not list(tmp_path.iterdir())


def test_what_an_import_found_there_already_is_told():
    """Extended, known and renamed resources are reported separately."""
    summary = Summary(
        sources=[Origin("all.nq", "a" * 64)],
        grown=["urn:grown"],
        there=["urn:there"],
        elsewhere=[("urn:published", "urn:known")],
    )
    lines = list(import_.rdf_lines(summary))

    assert lines[1:4] == [
        "  grown urn:grown",
        "  there urn:there",
        "  there urn:published (as urn:known)",
    ]


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_keeps_count_bar_and_time(width, monkeypatch):
    """On a terminal of 80 columns and fewer, the note of a run yields, and nothing else."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    note = "12.3/s, 45,210 tokens, $0.43, 300 answers awaited in batches, 3 failed"

    with progress("run", 465) as advance:
        advance(105, note=note, total=465, seconds_left=1234.0)

    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    line = next(line for line in re.split("[\r\n]", shown) if "105/465" in line)
    assert len(line) <= width
    assert line.startswith("run ━")
    assert "105/465 20 min 34 s left 12.3" in line
    assert "…" in line


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.csv", "rank,"), ("a.XLSX", "PK"), ("a.tex", r"\begin{table}"), ("a.txt", "Leaderboard")],
)
def test_the_name_of_a_file_decides_its_format(scores, tmp_path, name, start):
    """Without ``--format``, a table is written as the file name says."""
    kgbench("leaderboard", "--store", scores, "-o", tmp_path / name)
    kgbench("leaderboard", "--store", scores, "-o", tmp_path / f"b-{name}", "--format", "json")

    assert (tmp_path / name).read_bytes().decode("latin-1").startswith(start)
    assert (tmp_path / f"b-{name}").read_text().startswith("{")


def patient(*, after):
    """Return a server that answers the first call, and rate-limits all others."""
    limited = scripts.Behaviour(scripts.RATE_LIMIT, retry_after=after)
    script = scripts.sequence(scripts.ANSWER, limited)
    return LoopbackServer(OpenAISpeech(echo_key=True), script=script)


def words(server, store):
    """Return the arguments of a run of two dialogues on a server."""
    spec = f"openai:small@{server.root}"
    return ["run", "--store", str(store), "--task", TASK, "-n", "2", "-c", "1", "--model", spec]


def test_a_file_whose_name_shows_no_format_is_refused(scores, tmp_path):
    """Nothing is written under a name of another format; ``--format`` chooses one."""
    out = tmp_path / "a.html"
    words = ("analyze", "leaderboard", "--store", scores, "-o", out)
    refused = kgbench(*words, code=2)
    assert "no format of tables has the suffix .html" in refused.stderr
    assert not out.exists()

    kgbench(*words, "--format", "markdown")
    assert out.read_text().startswith("**Leaderboard")


def test_a_line_says_what_is_waited_for(tmp_path, monkeypatch):
    """Without a terminal, one line names status, host and seconds, and no key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with patient(after="2") as server:
        done = CliRunner().invoke(app, words(server, tmp_path / "store"))
        host = server.root.removeprefix("http://")

    assert done.exit_code == 0
    waits = [line for line in done.stderr.splitlines() if "waiting: " in line]
    assert len(waits) == 1
    assert waits[0].endswith(f": waiting: 429 from {host}, next attempt in 2 s")
    assert KEY not in done.output


def test_a_terminal_shows_a_live_line(tmp_path):
    """On a terminal the line counts down, and disappears."""
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "TERM": "xterm", "COLUMNS": "100"}
    with patient(after="3") as server:
        above, below = pty.openpty()
        command = [sys.executable, "-m", "kgbench", *words(server, tmp_path / "store")]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=below
        ) as run:
            os.close(below)
            said = _read(above)
        host = server.root.removeprefix("http://")

    assert run.returncode == 0, said
    seconds = re.findall(rf"waiting: 429 from {re.escape(host)}, next attempt in (\d) s", said)
    assert seconds[0] == "3"
    assert set(seconds) >= {"3", "2", "1"}
    assert KEY not in said
    assert "waiting" not in said.rpartition("\x1b[2K")[2]


def _read(terminal):
    """Return the output of a pseudo-terminal until its other end is closed."""
    said = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # raised on Linux when the other end is closed
            piece = b""
        if not piece:
            os.close(terminal)
            return said.decode("utf-8", "replace")
        said += piece
