# SPDX-License-Identifier: Apache-2.0
"""Served and published pages in windows of different widths, in a real browser."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from tests.publish import static
from tests.publish.conftest import command, publish
from tests.serve.browser import browsing, lacking
from tests.serve.packages import member
from tests.serve.processes import serving
from tests.serve.test_browser import AXE, CHECK

TASKS = (
    *("RdfSyntaxFixList-turtle", "Text2AnswerListOrga-turtle", "RdfConnectionExplainStatic-jsonld"),
    *("Text2SparqlExecEvalListBeastiary-turtle-subschema", "FactExtractStatic"),
)
NOISY = "baseline:noisy?rate=0.5&seed=3"
MODELS = ("baseline:oracle", NOISY, "baseline:silent")
#: Tables that are too wide for a phone and scroll in place.
WIDE = re.compile(r"Scores by model and task|Scores by task \(|Provenance|.* against ")
TOO_WIDE = """
return [...document.querySelectorAll('.scroll')]
  .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth)
  .map((one) => one.getAttribute('aria-label'));
"""
CUT = """
return [...document.querySelectorAll('.board th, .board td, .list th, .list td, .results th')]
  .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.textContent);
"""
SIDEWAYS = "window.scrollTo(1000, 0); return window.scrollX"
BROKEN_NAMES = """
const lines = (one) => {
  const range = document.createRange();
  range.selectNodeContents(one);
  return new Set([...range.getClientRects()].map((box) => box.top)).size;
};
return [...document.querySelectorAll('.board .name')]
  .filter((one) => lines(one) !== 1 || one.scrollWidth > one.clientWidth)
  .map((one) => one.textContent);
"""
OPEN = "for (const one of document.querySelectorAll('details')) one.open = true"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store with a run of three models on tasks with long names."""
    place = tmp_path_factory.mktemp("widths") / "store"
    chosen = [
        word for flag, names in (("-m", MODELS), ("-t", TASKS)) for n in names for word in (flag, n)
    ]
    command("run", "--store", place, *chosen, "-n", "2")
    return place


@pytest.fixture(scope="module")
def site(store, tmp_path_factory):
    """Publish the store and return the folder."""
    out = tmp_path_factory.mktemp("widths-site") / "bench"
    publish(store, out)
    return out


@pytest.fixture(scope="module")
def urls(store, site):
    """Yield the addresses of all kinds of pages, served and published."""
    (run,) = (path.name for path in (site / "run").iterdir() if path.is_dir())
    executions = sorted((site / "run" / run).glob(f"*noisy*/{TASKS[0]}"))
    page = (executions[0] / "index.html").read_text(encoding="utf-8")
    dialogue = executions[0] / re.findall('<section class="dialogue" id="([^"]+)"', page)[0]
    task = next((site / "task").glob(f"*/*/{TASKS[0]}/*/index.html")).parent
    model = next((site / "model").glob("*noisy*/index.html")).parent
    things = [f"run/{run}", "suite/kgbench-1"] + [
        str(path.relative_to(site)) for path in (executions[0], task, model)
    ]
    pair = f"a={quote(MODELS[0])}&b={quote(NOISY, safe='')}"
    with serving(store, "--workers", "1") as server, static.serving(site) as published:
        yield [
            *(server.url + path for path in ("", "leaderboard", "dialogues", f"compare?{pair}")),
            *(server.url + path for path in (*things, str(dialogue.relative_to(site)), "nothing")),
            *(published + path for path in ("", "leaderboard/", "version/1/", "compass/swj/")),
            *(f"{published}{path}/" for path in things),
        ]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Yield a browser window."""
    with browsing(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize("width", [320, 390, 800, 1000, 1280])
def test_no_page_moves_sideways(browser, urls, width):
    """No page scrolls sideways, even with all parts unfolded; wide content scrolls in place."""
    browser.look(width=width)
    found = []
    for url in urls:
        browser.open(url)
        browser.run(OPEN)
        found += [(url, moved)] if (moved := browser.run(SIDEWAYS)) else []

    assert not found


def test_tables_fit_a_phone(browser, urls):
    """Tables show their first columns at 390 pixels, and no cell is cut off."""
    browser.look(width=390)
    found = []
    for url in urls:
        browser.open(url)
        browser.run(OPEN)
        found += [(url, name) for name in browser.run(TOO_WIDE) if not WIDE.match(name)]
        found += [(url, text) for text in browser.run(CUT)]

    assert not found


def test_phones_tell_beside_a_model_what_has_no_column(browser, urls):
    """On a leaderboard at 390 pixels, tasks and interval are below the name of a model."""
    browser.open(urls[1])
    shown = "return document.querySelector('.board tbody th').innerText"
    for width, words in ((1280, False), (390, True)):
        browser.look(width=width)
        assert (f"{len(TASKS)} of {len(TASKS)} tasks" in browser.run(shown)) is words
        head = "return document.querySelector('.board thead').innerText"
        assert ("95 % interval" in browser.run(head)) is not words


def test_leaderboards_fit(browser, urls):
    """Leaderboards fit 800 pixels; from 1,000 pixels on, each name fits on one line."""
    boards = 0
    for url in urls:
        for width in (800, 1000, 1280):
            browser.look(width=width)
            browser.open(url)
            boards += browser.run("return document.querySelectorAll('.board').length")
            wide = [name for name in browser.run(TOO_WIDE) if name.startswith("Leaderboard")]
            assert not wide, (url, width)
            assert width < 1000 or not browser.run(BROKEN_NAMES), (url, width)

    assert boards >= 3 * 5


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_pages_can_be_used_by_everybody(browser, urls, width, dark):
    """On every kind of page, axe finds nothing serious."""
    axe = member(*AXE)
    browser.look(width=width, dark=dark)
    found = []
    for url in urls:
        browser.open(url)
        for name, impact, nodes in browser.run_async(axe + CHECK):
            found += [(url, name, nodes)] if impact in ("serious", "critical") else []

    assert not found
