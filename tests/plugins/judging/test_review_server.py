# SPDX-License-Identifier: Apache-2.0
"""The review server: access, forms, blind pages, and hostile texts."""

from __future__ import annotations

import hashlib
import hmac
import html
import re

import pytest
from starlette.testclient import TestClient

from kgbench.plugins.judging.access import Access
from kgbench.plugins.judging.pages import application
from kgbench.plugins.judging.planning import JudgingRequest
from kgbench.plugins.judging.queue import ReviewQueue
from kgbench.record import reviews as record
from kgbench.record.judgements import rubric
from kgbench.scores.selection import newest_judgeable_run
from kgbench.serve.settings import Settings
from kgbench.store import open_store
from tests.serve.stores import HOSTILE
from tests.support.judge_runs import ask, judged_run
from tests.support.servers.loopback import LoopbackServer, fixed
from tests.support.servers.openai_server import OpenAISpeech

KEY = "open sesame"
ROOT = "http://testserver"
NOISY = "baseline:noisy?rate=0.7&seed=3"
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def store():
    """Yield a store with two models and one judge; no test depends on the number of verdicts."""
    with open_store("memory:") as opened:
        of = judged_run(opened, "baseline:oracle", NOISY, labels=["RdfFriendCount-turtle-1"])
        ask(opened, of, "correctness", NOISY)
        yield opened


def app_of(store, public=None, key=KEY, secret=None):
    """Return a review server over a store."""
    queue = ReviewQueue(
        store, newest_judgeable_run(store), JudgingRequest(rubric("correctness")), "random"
    )
    hosts = frozenset({"testserver", "bench.example"})
    return application(Settings("memory:", hosts=hosts), queue, Access(key, public, secret))


def served(app):
    """Return a client that follows no redirects and has no key yet."""
    return TestClient(app, follow_redirects=False, raise_server_exceptions=False)


@pytest.fixture
def stranger(store):
    """Return a client without the link."""
    return served(app_of(store))


@pytest.fixture
def owl(store):
    """Return a client that has opened the link and chosen a pseudonym."""
    return signed_in(app_of(store), "owl")


def signed_in(app, name):
    """Return a client that has opened the link and chosen the pseudonym ``name``."""
    client = served(app)
    assert client.get("/", params={"key": KEY}).status_code == 303
    sent = send(client, "/name", client.get("/").text, name=name)
    assert sent.status_code == 303
    return client


def form(page):
    """Return the hidden fields of a page's form."""
    return dict(re.findall(r'name="(token|shown)" value="([^"]*)"', page))


def send(client, path, page, headers=None, **fields):
    """Send a form of a page as a browser does."""
    headers = {"Origin": ROOT, **(headers or {})}
    headers = {name: value for name, value in headers.items() if value is not None}
    return client.post(path, data={**form(page), **fields}, headers=headers)


def following(client, path="/"):
    """Return the address and the text of the page to which a path redirects."""
    place = client.get(path).headers["location"]
    return place, client.get(place).text


# --- access --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/mine", "/adjudicate", "/item/0", "/?key=wrong"])
def test_nothing_is_shown_without_the_key(stranger, path):
    """Without the link every page is 403."""
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "RDF" not in answer.text


def test_the_key_leaves_the_address(stranger):
    """The link is exchanged for a cookie that no script and no other site can use."""
    answer = stranger.get("/", params={"key": KEY})
    cookie = answer.headers["set-cookie"].lower()

    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert KEY not in cookie
    assert "Who are you?" in stranger.get("/").text


@pytest.mark.parametrize("sent", ["owl", "owl.", "owl.0000", ".", "a b.1", "é.é", "x" * 9_000])
def test_cookies_cannot_be_made_up(stranger, sent):
    """A cookie without the server's signature is refused."""
    stranger.get("/", params={"key": KEY})
    (name,) = dict(stranger.cookies)
    stranger.cookies.clear()
    answer = stranger.get("/", headers={"Cookie": f"{name}={sent}".encode()})
    assert answer.status_code == 403


@pytest.mark.parametrize("name", ["", "a b", "owl@nest.example", "-x", "x" * 33, "ö", SCRIPT])
def test_pseudonyms_are_plain(store, name):
    """An invalid pseudonym is refused and never shown as markup."""
    client = served(app_of(store))
    client.get("/", params={"key": KEY})
    answer = send(client, "/name", client.get("/").text, name=name)
    assert answer.status_code == 400
    assert SCRIPT not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": "http://testserver.elsewhere.example"},
        {"Origin": "ftp://testserver"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_forms_of_other_sites_are_refused(store, owl, headers):
    """A form from another site is refused and writes nothing."""
    before = len(record.reviews(store))
    place, page = following(owl)
    answer = send(owl, place, page, headers, option="right", why="")
    assert answer.status_code == 403
    assert len(record.reviews(store)) == before


def test_forms_need_their_token(store, owl):
    """A form with another reviewer's token, or none, is refused and writes nothing."""
    before = len(record.reviews(store))
    place = following(owl)[0]
    theirs = following(signed_in(app_of(store), "fox"))[1]
    assert send(owl, place, theirs, option="right").status_code == 403
    assert send(owl, place, "", option="right").status_code == 403
    assert len(record.reviews(store)) == before


def test_other_hosts_and_methods_are_refused(owl):
    """Foreign host names (DNS rebinding), unused methods and unknown paths are refused."""
    assert owl.get("/", headers={"Host": "rebound.example"}).status_code == 421
    assert owl.put("/mine").status_code == 405
    assert owl.get("/sparql?query=ASK{}").status_code == 404
    assert owl.get("/static/../app.py").status_code == 404
    assert "access-control-allow-origin" not in owl.get("/mine").headers


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"option": "splendid"}, 400),
        ({}, 400),
        ({"option": "right", "why": "x" * 4_001}, 413),
        ({"option": "right", "why": "x" * 2_000_000}, 413),
        ({f"f{k}": "" for k in range(40)}, 400),
    ],
)
def test_bad_forms_are_refused(store, owl, fields, status):
    """Unknown options, long reasons and invalid forms are refused and write nothing."""
    before = len(record.reviews(store))
    place, page = following(owl)
    assert send(owl, place, page, **fields).status_code == status
    sent = owl.post(place, content=b"{}", headers={"Origin": ROOT, "Content-Type": "text/plain"})
    assert sent.status_code == 415
    assert send(owl, "/item/none", page, option="right").status_code == 404
    assert len(record.reviews(store)) == before


# --- pages ---------------------------------------------------------------------------------


def test_a_verdict_is_taken_and_the_next_item_is_shown(store):
    """A verdict is stored with its reason and duration, and can be revised."""
    owl = signed_in(app_of(store), "owl-1")
    place, page = following(owl)
    assert send(owl, place, page, option="right", why=" first\r\nsecond ").status_code == 303
    assert following(owl)[0] != place
    one = record.reviews(store)[-1]
    assert (one.reviewer, one.reason) == ("owl-1", "first\nsecond")
    assert one.seconds is not None
    assert one.seconds >= 0

    again = owl.get(place).text
    assert "Your earlier verdict is <strong>right</strong>" in again
    send(owl, place, again, option="wrong", why="", shown="1.2")
    assert record.reviews(store)[-1].revises == one.iri
    assert record.reviews(store)[-1].seconds is None
    assert "no reason given" in owl.get("/mine").text


def test_pages_are_blind(store):
    """The pages of an item show no model, score, judge's verdict or other reviewer."""
    bee = signed_in(app_of(store), "bee")
    seen = 0
    while bee.get("/").status_code == 303:
        place, page = following(bee)
        text = page.replace("kgbench", "")
        for hidden in (
            "oracle",
            "noisy",
            "baseline",
            "owl",
            "fox",
            "/run/",
            "/model/",
            "execution",
        ):
            assert hidden not in text, hidden
        send(bee, place, page, option="cannot-tell")
        seen += 1
    assert seen == 8
    assert "You have decided 8 of 8 items" in bee.get("/").text


def test_people_settle_what_they_disagree_on(store):
    """A dispute is shown with reasons but without names, and disappears once it is settled."""
    app = app_of(store)
    ann, bob, cleo = (signed_in(app, name) for name in ("ann", "bob", "cleo"))
    place = following(ann)[0]
    send(ann, place, ann.get(place).text, option="right", why=f"ann says {SCRIPT}")
    send(bob, place, bob.get(place).text, option="wrong", why="")
    dispute = place.replace("item", "adjudicate")
    assert bob.get(dispute).status_code == 403
    assert bob.get("/adjudicate").headers.get("location") is None
    page = cleo.get(dispute).text
    assert "Reviewer A" in page
    assert "ann says &lt;script&gt;" in page
    assert ">ann<" not in page
    settled = {"option": "right", "why": "she is right"}
    own_page = following(bob)[1]
    assert send(bob, dispute, own_page, **settled).status_code == 409
    assert send(cleo, dispute, page, **settled).status_code == 303
    assert record.reviews(store)[-1].queue == "adjudication"
    assert cleo.get("/adjudicate").headers.get("location") != dispute
    assert signed_in(app, "dora").get(dispute).status_code == 403


def test_only_disputes_show_the_verdicts_of_others():
    """A verdict that nobody contests is shown to nobody else."""
    with open_store("memory:") as opened:
        judged_run(opened, "baseline:oracle", labels=["RdfFriendCount-turtle-1"], iterations=1)
        app = app_of(opened)
        dan = signed_in(app, "dan")
        place, page = following(dan)
        send(dan, place, page, option="right", why="only mine")
        answer = signed_in(app, "eve").get(place.replace("item", "adjudicate"))
        assert answer.status_code == 403
        assert "only mine" not in answer.text


# --- pseudonyms ----------------------------------------------------------------------------


def choose(client, name):
    """Open the link, choose a pseudonym, and return the answer."""
    client.get("/", params={"key": KEY})
    return send(client, "/name", client.get("/").text, name=name)


def test_a_pseudonym_belongs_to_its_first_cookie(store):
    """Nobody else can take it, in this server or, once it has a verdict, in a later one."""
    app = app_of(store)
    ida = signed_in(app, "ida")
    for name in ("ida", "IDA"):
        refused = choose(served(app), name)
        assert refused.status_code == 409
        assert "This pseudonym is taken" in refused.text
    place, page = following(ida)
    send(ida, place, page, option="right", why="of ida")
    assert choose(served(app_of(store)), "ida").status_code == 409
    assert ida.get("/mine").text.count("of ida") == 1


def test_the_key_of_the_link_makes_no_cookie(store, owl):
    """Reviewers know the key; it signs neither cookies nor personal links."""
    (name,) = dict(owl.cookies)
    secret = hashlib.sha256(b"kgbench review " + KEY.encode()).digest()
    for parts in (("visitor", "ida"), ("owner", "ida")):
        signature = hmac.new(secret, "\0".join(parts).encode(), hashlib.sha256).hexdigest()[:32]
        for forged in (f"ida.{signature}", f"ida.{signature}.{signature}"):
            owl.cookies.clear()
            assert owl.get("/mine", headers={"Cookie": f"{name}={forged}"}).status_code == 403
        assert owl.get("/", params={"key": KEY, "me": f"ida.{signature}"}).status_code == 403


def test_a_personal_link_brings_its_owner_back(store):
    """It works in another browser and with a later server of the store, not for others."""
    kim = signed_in(app_of(store, secret="of the store"), "kim")
    assert "personal link" not in kim.get("/mine").text
    place, page = following(kim)
    send(kim, place, page, option="right", why="of kim")
    link = html.unescape(re.search(r'href="/(\?key=[^"]+)"', kim.get("/mine").text)[1])

    again = served(app_of(store, secret="of the store"))
    assert again.get(f"/{link.replace(KEY, 'another')}").status_code == 403
    assert again.get(f"/{link.replace('kim.', 'owl.')}").status_code == 403
    assert again.get(f"/{link}").status_code == 303
    assert "of kim" in again.get("/mine").text
    assert served(app_of(store)).get(f"/{link}").status_code == 403


def test_a_new_key_of_the_link_keeps_pseudonyms_with_verdicts(store):
    """After a restart with another key, a cookie needs the new link, and its owner stays."""
    client = served(app_of(store, secret="of the store"))
    choose(client, "lea")
    send(client, *following(client), option="right", why="of lea")
    later = served(app_of(store, key="another", secret="of the store"))
    later.cookies = client.cookies
    assert later.get("/mine").status_code == 403
    assert later.get("/", params={"key": "another"}).status_code == 303
    assert "of lea" in later.get("/mine").text


def test_hostile_answers_are_text(monkeypatch):
    """Markup, scripts and direction overrides are shown as text without effect."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with (
        LoopbackServer(OpenAISpeech(), answer=fixed(HOSTILE + SCRIPT)) as server,
        open_store("memory:") as opened,
    ):
        judged_run(opened, f"openai:hostile@{server.url}", labels=["RdfFriendCount-turtle-1"])
        owl = signed_in(app_of(opened), "owl")
        place, page = following(owl)
        answer = owl.get(place)
        assert SCRIPT not in page
        assert "\u202e" not in page
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"


def test_behind_a_proxy_links_lead_to_where_clients_are(store):
    """With --public, pages are below its path, and forms must come from its origin."""
    client = served(app_of(store, "https://bench.example/review/"))
    answer = client.get("/", params={"key": KEY})
    assert answer.headers["location"] == "/review/"
    assert "secure" in answer.headers["set-cookie"].lower()
    assert "path=/review/" in answer.headers["set-cookie"].lower()
    cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
    page = client.get("/", headers=cookie).text
    assert 'action="/review/name"' in page
    for origin, status in (("https://bench.example", 303), ("http://bench.example", 403)):
        sent = send(client, "/name", page, {"Origin": origin, **cookie}, name="owl")
        assert sent.status_code == status
