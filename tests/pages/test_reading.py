# SPDX-License-Identifier: Apache-2.0
"""Pages of dialogues, tasks and suites, served and published."""

from __future__ import annotations

import re
from html import unescape

import pytest
from starlette.testclient import TestClient

from kgbench.pages.rendering import STATIC, time_element
from kgbench.publish.redaction import RedactionLevel
from kgbench.serve.app import application
from kgbench.serve.settings import Settings
from tests.publish.conftest import command, hasten, publish
from tests.serve import stores
from tests.serve.conftest import LIMITS

TASKS = ("RdfSyntaxFixList-turtle", "Text2AnswerListOrga-turtle")
NOISY = "baseline:noisy?rate=1&seed=3"
DIALOGUE = "/run/1/oracle/Spell-10/0-d1d1d1d1"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store with a run of a model that is right and one that is wrong."""
    place = tmp_path_factory.mktemp("reading") / "store"
    chosen = [word for task in TASKS for word in ("-t", task)]
    command("run", "--store", place, "-m", "baseline:oracle", "-m", NOISY, *chosen, "-n", "2")
    return place


@pytest.fixture(scope="module")
def client(store):
    """Yield a client of a server of this store."""
    settings = Settings(location=str(store), limits=LIMITS)
    with TestClient(application(settings)) as found:
        yield found


def page(client, path):
    """Return a page as a browser requests it."""
    response = client.get(path, headers={"Accept": "text/html"})
    assert 200 == response.status_code, response.text[:500]
    return response.text


def dialogues(client, model, task):
    """Return the paths of the dialogues of one model and task."""
    query = (
        "PREFIX kgb: <https://w3id.org/kgbench/ns#> "
        "SELECT ?d { GRAPH ?g { ?d a kgb:Dialogue } } ORDER BY ?d"
    )
    asked = {"Accept": "application/sparql-results+json"}
    rows = client.get("/sparql", params={"query": query}, headers=asked).json()["results"]
    found = [row["d"]["value"].removeprefix("https://w3id.org/kgbench") for row in rows["bindings"]]
    slug = model.partition("?")[0].replace(":", "-")
    return [path for path in found if f"/{slug}-" in path and f"/{task}/" in path]


def test_a_wrong_text_is_compared_with_the_reference(client):
    """The reference text and the lines that differ are shown only on demand."""
    path = dialogues(client, NOISY, TASKS[0])[0]
    text, revealed = page(client, path), page(client, f"{path}?reveal=1")

    assert "Reference text" not in text
    assert '<pre class="diff"' not in text
    assert "<h3>Reference text: optimal</h3>" in revealed
    assert "Difference from the reference text" in revealed
    assert "<del>" in revealed


def test_wrong_values_are_compared_with_the_reference(client):
    """Missing and surplus values are shown beside the answer."""
    revealed = page(client, f"{dialogues(client, NOISY, TASKS[1])[0]}?reveal=1")

    assert "<h3>Reference values: refResultSet</h3>" in revealed
    assert '<ul class="missing">' in revealed
    assert '<ul class="surplus">' in revealed


def test_a_right_answer_is_said_to_be(client):
    """A right answer is said to equal the reference, and its perfect scores are folded."""
    text = page(client, f"{dialogues(client, 'baseline:oracle', TASKS[0])[0]}?reveal=1")

    assert "The answer equals the reference." in text
    assert "Below the best value" not in text
    assert re.search(r"<details class=\"perfect\"><summary>\d+ more metrics at the best", text)


def test_rounds_are_folded(client):
    """Each round of a dialogue has a part that can be folded, and a link to it."""
    text = page(client, dialogues(client, NOISY, TASKS[0])[0])

    assert 3 == len(re.findall(r"<summary>Round \d of 3", text))
    assert 2 == text.count('<details class="round" open>')
    assert 3 == len(re.findall(r'<li><a href="#\d-answer">Round', text))


def test_next_leads_through_the_run(client):
    """The links "next" lead from the first dialogue of a run through all others."""
    every = {
        path for m in ("baseline:oracle", NOISY) for t in TASKS for path in dialogues(client, m, t)
    }
    path = next(p for p in every if 'rel="prev"' not in page(client, p))
    seen = [path]
    while found := re.search(r'<a href="([^"]*)" rel="next">', page(client, path)):
        path = unescape(found[1])
        seen.append(path)

    assert sorted(every) == sorted(seen)


def test_the_same_case_leads_to_other_models(client):
    """A dialogue links to other models' dialogues about the same case."""
    path = dialogues(client, NOISY, TASKS[1])[0]
    other = re.search(
        r'<details class="others">.*?<a href="([^"]*)"', page(client, path), re.DOTALL
    )

    case = re.compile(r'<dt>Case</dt><dd>\s*<a href="([^"]*)"')
    assert case.search(page(client, path))[1] == case.search(page(client, unescape(other[1])))[1]


def test_a_task_says_what_is_asked(client):
    """A task has a definition, an example and results by model; metrics are folded."""
    suite = page(client, "/suite/kgbench-1")
    task = unescape(re.search(rf'href="(/task/[^"]*/{TASKS[1]}/[^"]*)"', suite)[1])
    text = page(client, task)

    assert '<p class="asked">A small graph of an organisation and a question are shown' in text
    example = text.partition(">Example</h2>")[2].partition("<h2>Results")[0]
    assert 'data-language="Turtle"' in example
    assert "refResultSet" not in text
    assert re.search(r"baseline:oracle.*?1\.000", text, re.DOTALL)
    assert re.search(r"<details class=\"metrics\"><summary>\d+ metrics", text)


def test_a_suite_lists_its_tasks(client):
    """A suite lists each task with a description and progress, and the results by model."""
    text = page(client, "/suite/kgbench-1")
    rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', text, re.DOTALL)
    (row,) = (row for row in rows if "answer a question from a graph" in row and TASKS[1] in row)

    assert re.search(r"2 of 2</td>", row)
    assert "baseline:oracle" in row
    assert 'class="heat"' in text
    assert "<strong>2</strong> models" in text


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Yield a client of a server with hostile prompts and answers of a megabyte."""
    most = stores.HOSTILE * (1_000_000 // len(stores.HOSTILE))
    texts = {"a-n-n-e": most, "Spell anne.": f"```turtle\n{most}"}
    folder = stores.make(tmp_path_factory.mktemp("hostile") / "results", texts=texts)
    with TestClient(application(Settings(location=str(folder), limits=LIMITS))) as found:
        yield found


def test_a_megabyte_of_harm_is_shown_as_text(hostile):
    """The beginning is shown as text without control characters, and the rest is counted."""
    for path in (DIALOGUE, f"{DIALOGUE}?reveal=1", "/task/Spell/1.0/Spell-10/11aa22bb"):
        text = page(hostile, path)

        assert "<script>alert" not in text
        assert "<img" not in text
        assert not re.search("[\u202e\u2066\x00-\x08\x0b-\x1f]", text)
        assert "&lt;script&gt;alert(1)" in text
        assert " more)" in text
        assert len(text) < 8_000_000


def test_published_pages_tell_no_more_than_before(store, tmp_path):
    """Published pages have no reference answers; their neighbours in the run are linked."""
    with pytest.MonkeyPatch.context() as patch:
        hasten(patch)
        publish(store, tmp_path / "site")
    pages = sorted((tmp_path / "site" / "run").glob("*/baseline-*/*/index.html"))
    assert 4 == len(pages)
    ends = 0
    for place in pages:
        text = place.read_text(encoding="utf-8")
        assert "Reference" not in text
        assert "reveal" not in text
        links = re.findall(r'<a href="([^"]*)" rel="(?:prev|next)">', text)
        ends += 2 - len(links)
        for link in links:
            assert (place.parent / unescape(link) / "index.html").is_file()
    assert 2 == ends


@pytest.mark.parametrize(
    ("level", "shown"), [(RedactionLevel.GOLD, True), (RedactionLevel.PROMPTS, False)]
)
def test_a_published_task_shows_what_is_published(store, tmp_path, level, shown):
    """The example of a published task is a prompt, unless prompts are withheld."""
    publish(store, tmp_path / "site", level=level, base="https://example.org/bench/")
    (place,) = (tmp_path / "site" / "task").glob(f"*/*/{TASKS[1]}/*/index.html")
    text = place.read_text(encoding="utf-8")

    assert (">Example</h2>" in text) is shown
    assert ("Answer the following question" in text) is shown
    suite = (tmp_path / "site" / "suite" / "kgbench-1" / "index.html").read_text(encoding="utf-8")
    assert "answer a question from a graph" in suite
    assert 'href="../../leaderboard/kgbench-1/"' in suite


def execution(client, task):
    """Return the path of the execution of a task by the noisy model."""
    return dialogues(client, NOISY, task)[0].rpartition("/")[0]


def test_an_execution_lists_its_dialogues(client):
    """An execution lists and links its dialogues with outcome and score."""
    path = execution(client, TASKS[1])
    text = page(client, path)

    assert f"<h1><bdi>{TASKS[1]} by {NOISY.replace('&', '&amp;')}</bdi></h1>" in text
    links = [unescape(one) for one in re.findall(r'<th scope="row"><a href="([^"]+)">', text)]
    assert dialogues(client, NOISY, TASKS[1]) == links
    assert re.search(r'<span class="outcome outcome-scored">scored</span>', text)
    assert re.search(r'<td class="number">0\.\d{3}</td>', text)


def test_dialogues_are_called_by_task_and_model(client):
    """Lists of references name dialogues by task and model, not by path."""
    text = page(client, execution(client, TASKS[1]))
    name = f"{TASKS[1]} by {NOISY} #1"

    assert f"<bdi>{name.replace('&', '&amp;')}</bdi>" in text
    assert "<bdi>run/" not in text


def test_pages_name_classes_of_the_vocabulary(client):
    """The kind of a resource above the title omits the general classes of PROV-O."""
    for path in (execution(client, TASKS[1]), dialogues(client, NOISY, TASKS[1])[0]):
        kind = page(client, path).partition('<p class="kind">')[2].partition("</p>")[0]
        assert "prov:" not in kind
        assert "/ns#" in kind


def test_verdicts_are_named_by_pass_and_time(client):
    """The link to a verdict has the kind and time of its pass instead of an IRI."""
    text = page(client, dialogues(client, NOISY, TASKS[1])[0])

    named = r"<bdi>verdict on answer 0 \(live pass of \d+ \w+ \d{4}, \d\d:\d\d UTC\)</bdi>"
    assert re.search(named, text)


def test_a_model_has_a_short_table_of_results(client):
    """Means with intervals link to the dialogues; all other columns are folded."""
    suite = page(client, "/suite/kgbench-1")
    model = unescape(re.search(r'href="(/model/baseline-noisy[^"]*)"', suite)[1])
    text = page(client, model)
    results = text.partition('<table class="results"')[2].partition("</table>")[0]

    assert [task for task in TASKS if f"<bdi>{task}</bdi>" in results] == list(TASKS)
    assert 2 == len(re.findall(r'<a href="/dialogues\?[^"]*model=baseline[^"]*task=', results))
    assert "<details><summary>All columns" in text


def test_style_sheets_do_not_repeat_each_other():
    """No selector has rules in both style sheets, where one would override the other."""
    found = []
    for name in ("style.css", "reading.css"):
        text = re.sub(r"/\*.*?\*/", "", (STATIC / name).read_text(), flags=re.DOTALL)
        text = re.sub(r"@media[^{]*\{((?:[^{}]*\{[^{}]*\})*[^{}]*)\}", "", text)
        rules = re.findall(r"([^{}]+)\{", text)
        found.append({one.strip() for rule in rules for one in rule.split(",")})

    assert all(len(selectors) > 50 for selectors in found)
    assert not found[0] & found[1]


@pytest.mark.parametrize(
    ("recorded", "element"),
    [
        ("2024-12-19T06:29:39.034515", '<time datetime="2024-12-19T06:29:39.034">19 Dec'),
        ("2026-11-22T19:43:33+01:00", '<time datetime="2026-11-22T18:43:33+00:00">22 Nov'),
        ("<now>", "&lt;now&gt;"),
        (None, "\N{EN DASH}"),
    ],
)
def test_times_are_elements_that_machines_read(recorded, element):
    """HTML allows three decimals of a second; what is no time is only text."""
    assert time_element(recorded).startswith(element)
