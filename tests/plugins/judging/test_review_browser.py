# SPDX-License-Identifier: Apache-2.0
"""The review in a real browser: by keyboard only, on a phone, with hostile answers."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from kgbench.record import reviews as record
from kgbench.store import open_reader, open_store
from tests.serve.browser import browsing, lacking
from tests.serve.packages import member
from tests.serve.processes import serving
from tests.serve.stores import HOSTILE
from tests.serve.test_browser import AXE, CHECK
from tests.support.judge_runs import ask, judged_run
from tests.support.servers.loopback import LoopbackServer, fixed
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.stores import copied

CONTROL = 2  # the modifier of the DevTools protocol
LOADED = "document.readyState === 'complete'"
ITEM = f"return {LOADED} && location.pathname.startsWith('/item/') && location.pathname"
DONE = "return document.querySelector('.progress-line span').textContent"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Yield a store with hostile and other answers."""
    patch = pytest.MonkeyPatch()
    patch.setenv("OPENAI_API_KEY", "sk-test")
    with LoopbackServer(OpenAISpeech(), answer=fixed(f"{HOSTILE}<script>x()</script>")) as server:
        place = tmp_path_factory.mktemp("review") / "results"
        with open_store(str(place)) as store:
            of = judged_run(
                store,
                "baseline:oracle",
                f"openai:hostile@{server.url}",
                labels=["RdfFriendCount-turtle-1"],
                iterations=3,
            )
            ask(store, of, "correctness", "baseline:noisy?rate=0.7&seed=3")
        yield place
    patch.undo()


@contextmanager
def reviewing(folder, *options):
    """Yield the URL of a running review server, and the link that admits reviewers."""
    with serving(folder, *options, command="review") as process:
        yield process.url, process.link


@pytest.fixture
def folder(made, tmp_path):
    """Return a copy of the store without reviews."""
    return copied(made, tmp_path / "results")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Yield a browser window."""
    with browsing(tmp_path_factory.mktemp("profile")) as found:
        yield found


def arrived(browser, path):
    """Wait until a page is loaded."""
    browser.wait(f"return {LOADED} && location.pathname === '{path}'")


def sign_in(browser, link, name):
    """Open the link, type a pseudonym, and return the path of the first item."""
    browser.open(link)
    browser.press(*name, "Enter")
    return browser.wait(ITEM)


def test_a_review_needs_only_keys(browser, folder):
    """Two people decide, revise, skip, give reasons and settle a dispute with keys only."""
    browser.complaints()
    browser.look()
    with reviewing(folder, "--queue", "random") as (root, link):
        first = sign_in(browser, link, "owl")
        browser.press("1")
        assert browser.run("return document.getElementById('definition').textContent")
        browser.press("/", *"It says so.")
        assert browser.run("return document.querySelector(':checked').dataset.key") == "1"
        browser.press("Enter", *"Twice.")
        browser.press("Enter", modifiers=CONTROL)
        second = browser.wait(f"{ITEM} && location.pathname !== '{first}' && location.pathname")
        browser.press("j", "j", "k", "?")
        assert browser.run("return document.getElementById('help').open")
        assert browser.run("return document.activeElement.classList.contains('piece')")
        browser.press("b")
        arrived(browser, first)
        assert browser.run("return document.getElementById('why').value") == "It says so.\nTwice."
        browser.press("2", "Enter")
        arrived(browser, second)
        browser.press("s")
        third = browser.wait(f"{ITEM} && location.pathname !== '{second}' && location.pathname")
        assert third not in (first, second)
        assert browser.run(DONE) == "1 of 6"

        browser.command("Network.clearBrowserCookies", {})
        assert sign_in(browser, link, "fox") == first
        browser.press("1", "Enter")
        browser.wait(f"{ITEM} && location.pathname === '{second}'")
        browser.command("Network.clearBrowserCookies", {})
        assert sign_in(browser, link, "elk") == first
        browser.open(f"{root}adjudicate")
        browser.wait(f"return {LOADED} && document.querySelectorAll('.opinions h2').length === 2")
        browser.press("2", "Enter")
        said = "return document.querySelector('h1').textContent"
        browser.wait(f"{said} === 'No disputes'")
        assert not browser.complaints()
    with open_reader(str(folder)) as store:
        found = record.reviews(store)
    assert [one.reviewer for one in found] == ["owl", "owl", "fox", "elk"]
    assert found[0].reason == "It says so.\nTwice."
    assert found[1].revises == found[0].iri
    assert set(found[3].adjudicates) == {found[1].iri, found[2].iri}


def test_the_form_works_without_the_script(browser, folder):
    """Without scripts, the keyboard suffices for a verdict."""
    browser.look()
    with reviewing(folder) as (_, link):
        browser.command("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            browser.command("Network.clearBrowserCookies", {})
            browser.open(link)
            browser.press(*"bee", "Enter")
            first = browser.wait(ITEM)
            for _ in range(40):
                browser.press("Tab")
                if browser.run("return document.activeElement.name") == "option":
                    break
            browser.press(" ", "Enter")
            browser.wait(f"{ITEM} && location.pathname !== '{first}'")
            assert browser.run(DONE) == "1 of 6"
        finally:
            browser.command("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360], ids=["desk", "phone"])
def test_pages_can_be_used_by_everybody(browser, folder, width, dark):
    """Nothing is too wide, targets are large enough, and axe finds nothing serious."""
    axe = member(*AXE)
    browser.look(width=width, height=740, dark=dark)
    found = []
    with reviewing(folder, "--rubric", "failure" if dark else "correctness") as (root, link):
        browser.command("Network.clearBrowserCookies", {})
        browser.open(link)
        pages = ["", "mine", "adjudicate", "item/none"]
        for k, path in enumerate(["name", *pages]):
            if k == 1:
                browser.press(*"yak", "Enter")
                browser.wait(ITEM)
            elif k:
                browser.open(root + path)
            seen = browser.run_async(axe + CHECK)
            found += [(path, *one) for one in seen if one[1] in ("serious", "critical")]
            wide = browser.run("return document.documentElement.scrollWidth - innerWidth")
            found += [(path, wide)] if wide > 0 else []
            if k == 1:
                low = (
                    "return [...document.querySelectorAll('.options label, .buttons > *')]"
                    ".filter((one) => one.getBoundingClientRect().height < 44).length"
                )
                found += [(path, "small")] if browser.run(low) else []
                left = "return document.querySelector('.verdict-form').getBoundingClientRect().top"
                found += [(path, "covered")] if browser.run(left) < 740 / 4 else []

    assert not found
