# SPDX-License-Identifier: Apache-2.0
"""Pages in a real browser: hostile texts do nothing, pages are accessible, the editor works."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.serve import stores
from tests.serve.browser import browsing, lacking
from tests.serve.packages import member
from tests.serve.processes import serving

AXE = ("axe-core", "4.14.1", "axe.min.js")
DIALOGUE = "run/1/oracle/Spell-10/0-d1d1d1d1"
UNDER_WAY = "run/3"
#: One page of each kind.
PAGES = [
    *("", "?suite=llm-kg-bench-3", "leaderboard", "leaderboard?set=swj&pass=latest", "dialogues"),
    *("dialogues?model=Oracle&below=2&sort=model", "dialogues?below=low", "compare"),
    *("compare?a=Oracle&b=Oracle&c=Oracle", "run/1", "run/2", UNDER_WAY, "model/oracle"),
    *("task/Spell/1.0/Spell-10/11aa22bb", DIALOGUE, f"{DIALOGUE}?reveal=1", "ns", "graph/run/1"),
    *("suite/kgbench-1", "case/kgbench-1/Spell/case/a1?reveal=1", "metric/Spell/1.0/f1", "pass/1"),
    *("run/1/oracle/Spell-10", "search?q=a", "editor?plain=1&name=list-models&run=1"),
]
#: Pages with an error status, which the console reports.
REFUSED = frozenset({"dialogues?below=low", "leaderboard?set=swj&pass=latest"})
CHECK = """
const done = arguments[arguments.length - 1];
axe.run(document).then((found) => done(found.violations.map(
  (one) => [one.id, one.impact, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])));
"""
EDITOR = "const found = document.querySelector('.CodeMirror');"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
]


@pytest.fixture(scope="module")
def yasgui(repository):
    """Yield the folder of YASGUI within the static files, as the build makes it."""
    folder = repository / "kgbench" / "serve" / "static" / "yasgui"
    was_there = folder.exists()
    if not was_there:
        if shutil.which("npm") is None:
            pytest.skip("there is no npm on this machine")
        done = subprocess.run(["make", "yasgui"], cwd=repository, capture_output=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip("npm cannot fetch YASGUI")
    yield folder
    if not was_there:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Yield the URL of a server with hostile texts in its records."""
    texts = {"a-n-n-e": stores.HOSTILE, "Spell anne.": stores.HOSTILE, "by hand": stores.HOSTILE}
    folder = stores.make(
        tmp_path_factory.mktemp("browser") / "results", texts=texts, extra=stores.run_under_way()
    )
    with serving(folder, "--workers", "1") as server:
        yield server.url


@pytest.fixture(scope="module")
def many_models(tmp_path_factory):
    """Yield the URL of a server with seven more models on a leaderboard."""
    folder = stores.with_models(tmp_path_factory.mktemp("models") / "results", 7)
    with serving(folder, "--workers", "1") as server:
        yield server.url


@pytest.fixture
def growing(tmp_path):
    """Yield the URL of a server with an unfinished run, and a function that ends a dialogue."""
    folder = stores.make(tmp_path / "results", extra=stores.run_under_way())
    with serving(folder, "--workers", "1") as server:
        yield server.url, lambda: stores.end_dialogue(folder)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Yield a browser window."""
    with browsing(tmp_path_factory.mktemp("profile")) as found:
        yield found


def test_pages_open_without_complaint(browser, url):
    """No script in a recorded text runs, and nothing violates the content policy."""
    for path in PAGES:
        browser.complaints()
        browser.open(url + path)
        assert browser.run("return document.querySelectorAll('h1').length") == 1, path
        assert not browser.complaints() or path in REFUSED, path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_pages_can_be_used_by_everybody(browser, url, width, dark):
    """On every kind of page axe finds nothing serious, and none is wider than the window."""
    axe = member(*AXE)
    found = []
    browser.look(width=width, dark=dark)
    for path in PAGES:
        browser.open(url + path)
        serious = ("serious", "critical")
        found += [(path, *one) for one in browser.run_async(axe + CHECK) if one[1] in serious]
        wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth")
        if wide > 0:
            found.append((path, f"{wide} pixels too wide"))

    assert not found


def test_tables_are_sorted_and_filtered_without_a_reload(browser, url):
    """A click on a heading sorts the rows without a reload."""
    browser.look()
    browser.open(url + "run/1")
    browser.run("for (const one of document.querySelectorAll('details')) one.open = true")
    browser.run("window.kept = true")
    rows = "[...document.querySelectorAll('table.list[data-sortable] tbody tr')]"
    counts = f"return {rows}.map((row) => Number(row.cells[2].textContent))"
    before = browser.run(counts)
    heading = "document.querySelectorAll('table.list[data-sortable] th')[2]"
    browser.run(f"{heading}.querySelector('button').click()")
    assert browser.run(counts) == sorted(before, reverse=True)
    assert browser.run(f"return {heading}.getAttribute('aria-sort')") == "descending"
    browser.run(f"{heading}.querySelector('button').click()")
    assert browser.run(counts) == sorted(before)
    assert browser.run("return window.kept") is True


def test_leaderboards_are_filtered_by_a_text(browser, many_models):
    """The filter keeps the rows of matching models in both tables."""
    browser.look()
    browser.open(many_models + "leaderboard")
    shown = (
        "return [...document.querySelectorAll('tbody th[scope=row]')]"
        ".filter((one) => one.checkVisibility()).map((one) => one.textContent.trim())"
    )
    everything = browser.run(shown)
    field = "const field = document.querySelector('.filter input');"
    enter = "field.value = arguments[0]; field.dispatchEvent(new Event('input'));"
    browser.run(field + enter, "MODEL-3")
    assert browser.run(shown) == [one for one in everything if "model-3" in one]
    assert len(browser.run(shown)) == 2
    browser.run(field + enter, "")
    assert browser.run(shown) == everything


def test_a_run_is_followed_while_it_is_under_way(browser, growing):
    """The page of a run shows a finished dialogue soon after it is stored, without a reload."""
    server, add = growing
    browser.look()
    browser.open(server + UNDER_WAY)
    browser.run("window.kept = true")
    complete = "return document.querySelector('.counts strong').firstChild.textContent.trim()"
    assert browser.run(complete) == "0"
    add()
    browser.wait(f"return (() => {{ {complete} }})() === '1'")
    assert browser.run("return window.kept") is True


def test_pages_are_used_with_the_keyboard(browser, url):
    """The first tab stop is a visible link that skips the navigation."""
    browser.open(url)
    key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
    browser.command("Input.dispatchKeyEvent", {"type": "keyDown", **key})
    browser.command("Input.dispatchKeyEvent", {"type": "keyUp", **key})

    assert browser.run("return document.activeElement.getAttribute('href')") == "#content"
    box = browser.run("const b = document.activeElement.getBoundingClientRect(); return b.top")
    assert box >= 0  # visible while focused


@pytest.mark.parametrize("name", ["list-models", "run-progress", "score-histograms"])
def test_yasgui_runs_an_example(browser, yasgui, url, name):
    """YASGUI opens with an example's query, runs it, and shows the rows of its answer."""
    browser.look()
    browser.complaints()
    browser.open(f"{url}editor?name={name}")
    shown = browser.wait(EDITOR + "return found && found.CodeMirror.getValue()")
    assert "SELECT" in shown
    browser.run("document.querySelector('.active .yasqe_queryButton').click()")
    rows = browser.wait("return document.querySelectorAll('.active .yasr_results tbody tr').length")

    assert rows >= 1
    assert browser.run("return document.getElementById('plain').checkVisibility()") is False
    assert not browser.complaints()


def test_yasgui_shows_what_is_wrong(browser, yasgui, url):
    """YASGUI shows the endpoint's message about a query that does not parse."""
    browser.open(f"{url}editor?query=SELECT%20*%20%7B%20%3Fs%20%7D")
    browser.wait(EDITOR + "return found !== null")
    browser.run("document.querySelector('.active .yasqe_queryButton').click()")
    shown = "const said = document.querySelector('.active .yasr_results');"
    said = browser.wait(
        shown + "return said && said.innerText.includes('syntax error') && said.innerText"
    )

    assert "the query is not SPARQL: line 1, column 16: syntax error" in said


def test_plain_form_serves_without_yasgui(browser, url):
    """The plain form runs a query without YASGUI."""
    browser.open(f"{url}editor?plain=1&query=SELECT%20(1%20AS%20%3Fone)%20%7B%7D")
    browser.run("document.querySelector('button[name=run]').click()")

    assert browser.wait("return document.querySelectorAll('td').length") == 1
