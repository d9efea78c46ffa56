# SPDX-License-Identifier: Apache-2.0
"""Dialogues with tools in a real browser: readable on every screen, foldable without a script."""

from __future__ import annotations

import pytest

from kgbench.store import open_store
from kgbench.tool_calls import ToolCall
from kgbench.tools import wording
from tests.serve import stores
from tests.serve.browser import browsing, lacking
from tests.serve.packages import member
from tests.serve.processes import serving
from tests.serve.test_browser import AXE, CHECK
from tests.support.runs import hold
from tests.support.tool_runs import NATIVE, TEXT, call, held, loopbacks, plan_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
]
LONG = "http://example.org/" + 60 * "unbroken"
#: Hostile output of models: long words, markup, unknown tools.
HOSTILE = (
    wording.with_calls(
        stores.HOSTILE,
        [
            call("describe", "a", iri=LONG),
            call(60 * "lookup", "b", text=stores.HOSTILE),
            ToolCall("search", "{" + stores.HOSTILE, "c"),
            call("query", "d", sparql=f"SELECT ?s {{ ?s <{LONG}> ?o }}"),
        ],
    ),
    NATIVE[2],
)
#: Elements that extend beyond their turn, or overlap their neighbours.
SPILT = """
const found = [];
for (const one of document.querySelectorAll('.turn, .turn *')) {
  const box = one.getBoundingClientRect(), home = one.closest('.turn').getBoundingClientRect();
  if (box.width && (box.left < home.left - 1 || box.right > home.right + 1))
    found.push(one.outerHTML.slice(0, 80));
}
const folds = [...document.querySelectorAll('.turn summary')]
  .filter((one) => one.checkVisibility());
for (const [k, one] of folds.entries())
  for (const other of folds.slice(k + 1)) {
    const a = one.getBoundingClientRect(), b = other.getBoundingClientRect();
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (high > 1 && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1)
      found.push(`${one.textContent.slice(0, 30)} over ${other.textContent.slice(0, 30)}`);
  }
return found.slice(0, 5);
"""
UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Yield the addresses of three dialogues with tools: native, by text, hostile."""
    folder = tmp_path_factory.mktemp("tools") / "results"
    with pytest.MonkeyPatch.context() as patch, loopbacks() as start:
        patch.setenv("OPENAI_API_KEY", "sk-loopback")
        native, text = start(NATIVE, reasoning="They ask about Anne."), start(TEXT)
        specs = (
            f"openai:native@{native.url}",
            f"openai:text@{text.url}?toolProtocol=text",
            f"openai:hostile@{start(HOSTILE).url}",
        )
        with open_store(str(folder)) as store:
            assert hold(store, plan_of(*specs)).finished
            paths = [dialogue.iri.partition("/kgbench/")[2] for dialogue in held(store)]
    assert len(paths) == 3
    with serving(folder, "--workers", "1") as server:
        yield [server.url + path for path in paths]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Yield a browser window."""
    with browsing(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360], ids=["desk", "phone"])
def test_dialogues_with_tools_can_be_read(browser, pages, width, dark):
    """Nothing is too wide, nothing overlaps, and axe finds nothing serious, folded or not."""
    axe = member(*AXE)
    found = []
    browser.look(width=width, dark=dark)
    for page in pages:
        browser.complaints()
        browser.open(page)
        for script in ("", UNFOLD):
            browser.run(script)
            wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth")
            found += [(page, f"{wide} pixels too wide")] * (wide > 0)
            found += [(page, one) for one in browser.run(SPILT)]
        violations = browser.run_async(axe + CHECK)
        found += [(page, *one) for one in violations if one[1] in ("serious", "critical")]
        found += [(page, one) for one in browser.complaints()]

    assert not found


def test_calls_are_unfolded_without_a_script(browser, pages):
    """Without scripts, the keyboard reaches, unfolds and folds each call."""
    browser.look(width=360)
    browser.command("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open(next(page for page in pages if "/native/" in page))
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", {"value": False})
    reached = []
    for _ in range(200):
        browser.press("Tab")
        at = browser.run(
            "const one = document.activeElement;"
            "return one.matches('.tool > summary') ? one.parentNode.id : null"
        )
        if at is not None and at not in reached:
            reached.append(at)
            shown = f"return document.getElementById('{at}-result').checkVisibility()"
            assert browser.run(shown) is False
            browser.press("Enter")
            assert browser.run(shown) is True
            browser.press("Enter")
            assert browser.run(shown) is False

    assert reached == ["0-tool-0", "0-tool-1", "1-tool-0", "1-tool-1", "1-tool-2", "2-tool-0"]


def test_what_a_model_was_told_stands_as_it_was(browser, pages):
    """Blocks of calls and results are shown whole and in order, not paired as code fences."""
    browser.open(next(page for page in pages if "/native/" in page))
    told = browser.run("return document.querySelector('.told pre').textContent")
    written = browser.run(
        "return [...document.querySelectorAll('.turn.answer > .reasoning:last-of-type pre')]"
        ".map((one) => one.textContent)"
    )

    assert [line for line in told.splitlines() if line.startswith("```tool_result")] == [
        '```tool_result {"id":"a","tool":"search","outcome":"ok"}',
        '```tool_result {"id":"b","tool":"query","outcome":"ok"}',
    ]
    assert written[0].count("```tool_call") == 2
