# SPDX-License-Identifier: Apache-2.0
"""The published page of a run has the same results as the served one, with links to answers."""

from __future__ import annotations

import re
from html import unescape

import pytest

from kgbench import __version__
from kgbench.analysis.outcomes import Ending
from kgbench.pages import runs, things
from kgbench.vocab import BASE as STORE
from kgbench.vocab import KGB
from tests.publish.conftest import BASE, publish
from tests.serve import stores

SCORE = re.compile(r'class="number score" data-value="([^"]+)"')
CELL = re.compile(r'data-value="([^"]+)" title="([^"]+), n = (\d+)">(?:<a href="([^"]+)">)?')
EXECUTION = re.compile(r'href="([^"]+)"><bdi>list</bdi>')
FILLED = re.compile(r'href="(?:\.\./)+(queries/([a-z-]+)-[0-9a-f]{10}\.rq)"')


@pytest.fixture(scope="module")
def run(recorded, site):
    """Return the served data of the only run, the text of its published page, and its folder."""
    view = things.open_newest(recorded / "snapshots", STORE)
    (iri,) = things.instances(view, KGB.Run)
    folder = site / "run" / iri.rpartition("/")[2]
    return runs.run_page(view, iri, reveal=False), (folder / "index.html").read_text(), folder


def test_results_are_those_of_the_served_page(run):
    """Scores, scores by task, outcomes, worst dialogues, tokens and cost have the same values."""
    served, page, _ = run
    places = served["board"].places
    assert SCORE.findall(page) == [str(place["score"]) for place in places]
    tasks = [task.name for task in served["heat"].tasks]
    cells = [
        (str(cell["mean"]), task, str(cell["n"]))
        for *_, row in served["heat"].rows
        for task, cell in zip(tasks, row, strict=True)
    ]
    assert [found[:3] for found in CELL.findall(page)] == cells
    for _, total, counts in served["outcomes"]:
        said = ", ".join(f"{n:,} {name.replace('-', ' ')}" for name, n in counts)
        assert f"<td>{said}</td>" in page
        assert f'<td class="number minor">{total:,}</td>' in page
    assert served["worst"]
    for _, one in served["worst"]:
        assert f"{one.part} #{one.iteration}" in page
    assert f"<strong>{served['spent']['cost']}</strong> cost" in page
    assert page.count(">$0.00</td>") == len(served["spent"]["models"]) == 2


def test_cells_lead_to_the_dialogues_of_the_run(run):
    """Each cell of model and task links to the page with its dialogues."""
    _, page, folder = run
    links = [link for *_, link in CELL.findall(page)]
    assert sorted(links) == sorted(EXECUTION.findall(page))
    assert all((folder / link / "index.html").is_file() for link in links)


def test_worst_dialogues_are_linked(run):
    """Each of the worst dialogues is linked with its fragment."""
    served, page, folder = run
    table = page.partition('aria-label="Worst dialogues"')[2].partition("</table>")[0]
    links = re.findall(r'<th scope="row"><a href="([^"]+)"', table)
    assert len(links) == len(served["worst"])
    for link in links:
        document, _, place = link.partition("#")
        assert f'id="{place}"' in (folder / document / "index.html").read_text(encoding="utf-8")


def test_links_behind_results_lead_to_filled_queries(run, site):
    """Each query link has the graphs of the run filled in, if the query uses any."""
    _, page, _ = run
    filled = FILLED.findall(page)
    assert page.count("/queries/") == len(filled)
    assert {name for _, name in filled} >= {
        *("score-histograms", "outcome-counts", "run-usage", "run-prices", "run-progress")
    }
    for path, name in filled:
        text = (site / path).read_text()
        of_catalogue = name.startswith("list-") or name.endswith("-metrics")
        assert of_catalogue or re.search(f"<{BASE}graph/(run|pass)/", text), path


@pytest.mark.usefixtures("quick")
def test_a_run_under_way_is_published_as_it_was(tmp_path):
    """The page of an unfinished run says so, does not update itself, and has no scores."""
    folder = stores.make(tmp_path / "store", extra=stores.run_under_way())
    publish(folder, tmp_path / "out", unprotected=frozenset({"llm-kg-bench-3"}))
    page = (tmp_path / "out" / "run" / "3" / "index.html").read_text()
    assert "This run was in progress when this page was generated." in page
    assert "live.js" not in page
    assert "data-live" not in page
    assert "<small>of 2</small>" in page
    assert "<h2>Scores</h2>" not in page


def test_pages_end_with_the_version_of_kgbench(site):
    """The footer of each page has the version of kgbench, not that of the data."""
    for path in ("index.html", "version/1/index.html", "leaderboard/index.html"):
        foot = unescape((site / path).read_text().partition("<footer>")[2])
        assert f"<p>kgbench {__version__} · " in foot, path


@pytest.mark.usefixtures("quick")
def test_published_runs_of_others_are_called_by_their_models(hostile, tmp_path):
    """An imported run has the same name on its page and in lists, and its label on the page."""
    publish(hostile, tmp_path / "out", unprotected=frozenset({"llm-kg-bench-3"}))
    page = (tmp_path / "out" / "run" / "2" / "index.html").read_text()
    title = re.search(r"<h1><bdi>(.*?)</bdi></h1>", page)[1]
    assert "<dt>Recorded as</dt>" in page  # the name differs from the label
    landing = (tmp_path / "out" / "index.html").read_text()
    assert f'run/2/"><bdi>{title}</bdi>' in landing


def test_tokens_that_nobody_counted_are_not_said_to_be_none(run):
    """Answers without token counts have a dash in place of counts."""
    served, page, _ = run
    assert all(one["answers_without_counts"] for _, one in served["spent"]["models"])
    table = page.partition('aria-label="Tokens and cost"')[2].partition("</table>")[0]
    assert table.count("\N{EN DASH}</td>") == 3 * len(served["spent"]["models"])


def test_outcomes_with_equal_counts_are_ordered():
    """The order of outcomes does not depend on that of the rows, so that a check repeats it."""
    counts = {Ending("scored"): 1, Ending("empty", "truncated"): 2, Ending("empty"): 2}
    shown = [("M", 5, [("empty", 2), ("truncated and empty", 2), ("scored", 1)])]
    for one in (counts, dict(reversed(counts.items()))):
        assert runs.outcomes({"m": one}, {"m": "M"}) == shown
