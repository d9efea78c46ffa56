# SPDX-License-Identifier: Apache-2.0
"""Discovery by machines: typed links, site map, citations, server configurations."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from kgbench.publish import discovery
from kgbench.publish.folder import STATE
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.settings import Agent, DatasetDescription
from tests.publish.conftest import ABOUT, BASE, publish

SITEMAPS = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
SOURCE = "https://doi.org/10.5281/zenodo.18017450"
PATIENCE = 60


class Links(HTMLParser):
    """The typed links in the head of a page, and its embedded JSON-LD."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.embedded = ""
        self._inside = False
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Keep a link, or enter a script with JSON-LD."""
        said = dict(attrs)
        if tag == "link":
            self.found.append((said["rel"], said["href"]))
        self._inside = tag == "script" and said.get("type") == "application/ld+json"

    def handle_data(self, data):
        """Keep the content of a script with JSON-LD."""
        self.embedded += data if self._inside else ""

    def handle_endtag(self, tag):
        """Leave a script."""
        self._inside = self._inside and tag != "script"

    def of(self, relation: str) -> list[str]:
        """Return the targets of the links of one relation."""
        return [href for rel, href in self.found if rel == relation]


def test_the_landing_page_is_signposted(site):
    """The page links to identifier, author, licence, types, every dump and metadata."""
    links = Links(site / "index.html")
    assert links.of("cite-as") == [f"{BASE}#dataset"]
    assert links.of("author") == [ABOUT.creators[0].iri]
    assert links.of("license") == [ABOUT.licence]
    assert links.of("type") == ["https://schema.org/AboutPage", "https://schema.org/Dataset"]
    dumps = {f"{BASE}data/{path.name}" for path in (site / "data").iterdir()}
    tables = {f"{BASE}leaderboard/{p.name}" for p in (site / "leaderboard").iterdir() if p.suffix}
    others = {f"{BASE}{p.name}" for p in site.glob("claims.*")}
    assert set(links.of("item")) == dumps | tables - {f"{BASE}leaderboard/index.html"} | others
    for href in (*links.of("describedby"), *links.of("item")):
        assert (site / href.removeprefix(BASE)).is_file()


def test_the_site_map_lists_every_page(site):
    """The site map lists each page and each document without a page; robots.txt refers to it."""
    found = [e.text for e in ET.parse(site / "sitemap.xml").iter(f"{SITEMAPS}loc")]
    pages = {
        BASE + path.parent.relative_to(site).as_posix() + "/" for path in site.rglob("index.html")
    }
    documents = {"catalog", "void", "claims", "leaderboard/kgbench-1"}
    assert set(found) == pages - {f"{BASE}./"} | {BASE} | {f"{BASE}{d}.ttl" for d in documents}
    assert len(found) == len(set(found))
    assert f"Sitemap: {BASE}sitemap.xml" in (site / "robots.txt").read_text(encoding="utf-8")


def test_a_long_site_map_has_parts(folder, monkeypatch):
    """A site map beyond the limit is split; unneeded parts are removed later."""
    monkeypatch.setattr(discovery, "_MOST_PAGES", 2)
    for name in ("a", "b", "c", "d&e"):
        folder.write(f"{name}/index.html", name)
    discovery.write_sitemap(folder, BASE)
    index = ET.parse(folder.path / "sitemap.xml")
    parts = [e.text.removeprefix(BASE) for e in index.iter(f"{SITEMAPS}loc")]
    listed = [e.text for one in parts for e in ET.parse(folder.path / one).iter(f"{SITEMAPS}loc")]
    assert parts == ["sitemap-1.xml", "sitemap-2.xml"]
    assert listed == [f"{BASE}{name}/" for name in ("a", "b", "c", "d&e")]
    monkeypatch.setattr(discovery, "_MOST_PAGES", 9)
    discovery.write_sitemap(folder, BASE)
    assert not list(folder.path.glob("sitemap-*.xml"))


@pytest.fixture(scope="module")
def derived(recorded, tmp_path_factory):
    """Return a publication that is derived from another, without prompts."""
    about = DatasetDescription(
        title="Small <models>",
        licence=ABOUT.licence,
        creators=(*ABOUT.creators, Agent("B. Nobody")),
        publisher=Agent("Example University"),
        sources=(SOURCE, "https://example.org/earlier"),
    )
    out = tmp_path_factory.mktemp("derived") / "bench"
    publish(recorded, out, metadata=about, level=RedactionLevel.PROMPTS)
    return out


def test_search_engines_read_citation_and_sources(derived):
    """The embedded Dataset has citation, sources and a note of what is left out."""
    said = json.loads(Links(derived / "index.html").embedded)
    assert "Prompts and reference answers are left out" in said["description"]
    assert said["isBasedOn"] == [SOURCE, "https://example.org/earlier"]
    assert said["citation"].startswith("Ada Example; B. Nobody (20")
    assert said["citation"].endswith(f"Version 1. Example University. {BASE}version/1")
    assert said["publisher"] == {
        "@type": "Organization",
        "@id": f"{BASE}#agent-2",
        "name": "Example University",
    }


def test_archives_read_the_metadata(derived):
    """DataCite and Zenodo metadata have creators with ORCID, licence, sources and omissions."""
    datacite = json.loads((derived / "datacite.json").read_text(encoding="utf-8"))
    zenodo = json.loads((derived / ".zenodo.json").read_text(encoding="utf-8"))
    required = {"creators", "titles", "publisher", "publicationYear", "types", "schemaVersion"}
    assert required <= set(datacite)
    (orcid,) = datacite["creators"][0]["nameIdentifiers"]
    assert (orcid["nameIdentifierScheme"], orcid["nameIdentifier"]) == (
        "ORCID",
        "https://orcid.org/0000-0002-1825-0097",
    )
    assert datacite["rightsList"][0]["rightsIdentifier"] == "CC-BY-4.0"
    assert [one["relatedIdentifier"] for one in datacite["relatedIdentifiers"]] == [
        "10.5281/zenodo.18017450",
        "https://example.org/earlier",
    ]
    assert zenodo["creators"] == [
        {"name": "Ada Example", "orcid": "0000-0002-1825-0097"},
        {"name": "B. Nobody"},
    ]
    assert (zenodo["license"], zenodo["upload_type"]) == ("cc-by-4.0", "dataset")
    assert "left out" in zenodo["description"]
    assert "left out" in datacite["descriptions"][1]["description"]


def test_rules_of_servers_are_those_of_the_base(site):
    """Each configuration has all syntaxes; .nojekyll makes GitHub Pages serve dotted folders."""
    for name in ("nginx.conf", "apache.htaccess", "w3id.htaccess"):
        text = (site / "servers" / name).read_text(encoding="utf-8")
        assert all(media in text for media in ("turtle", "ld\\+json")), name
    assert "RewriteBase /bench/" in (site / "servers" / "apache.htaccess").read_text()
    assert (site / ".nojekyll").is_file()


def test_hosts_without_rules_lead_to_fragments(site):
    """The page for missing documents has the patterns of things of a kind and of dialogues."""
    text = (site / "404.html").read_text(encoding="utf-8")
    patterns = json.loads(text.partition("patterns = ")[2].partition(";\n")[0])
    for path, found in {
        "metric/Text2KG/1/f1": ("metric", "Text2KG/1/f1"),
        "graph/run/0199": ("graph", "run/0199"),
        "case/kgbench-1/Spell/a/b": ("case/kgbench-1/Spell", "a/b"),
        "run/0199/oracle/Spell/0-d1d1d1d1": ("run/0199/oracle/Spell", "0-d1d1d1d1"),
    }.items():
        matches = filter(None, (re.match(pattern, path) for pattern in patterns))
        assert next(matches).groups() == found
    files = [path for path in site.rglob("*") if path.is_file() and STATE not in path.parts]
    assert len(files) < 300


@pytest.mark.servers
def test_nginx_negotiates(site, tmp_path):
    """With our nginx rules, a resource is negotiated as page, Turtle or JSON-LD."""
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("needs nginx")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "bench").symlink_to(site)
    maps, rules = (site / "servers" / "nginx.conf").read_text().split("# --- in server { } ---")
    folders = "".join(
        f"{name}_temp_path {tmp_path}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/errors;"
        f"events {{}} http {{ access_log off; {folders} {maps}"
        f"server {{ listen 127.0.0.1:{port}; root {tmp_path}/root; {rules} }} }}"
    )
    server = subprocess.Popen([program, "-c", tmp_path / "nginx.conf"])
    try:
        address = f"http://127.0.0.1:{port}/bench/"

        def kind(path: str, accept: str) -> str:
            asked = Request(address + path, headers={"Accept": accept})
            with urlopen(asked, timeout=PATIENCE) as answer:
                return str(answer.headers.get_content_type())

        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                kind("", "*/*")
                break
            except URLError:
                time.sleep(0.1)
        run = next(p for p in (site / "run").glob("*.ttl") if "text" not in p.name).stem
        for media in ("text/turtle", "application/ld+json", "text/html"):
            for path in ("", f"run/{run}", f"run/{run}/", "ns"):
                assert kind(path, media) == media, (path, media)
            assert kind("metric/nothing", media) == media
        for path in ("claims", "leaderboard/kgbench-1"):
            assert kind(path, "text/turtle") == "text/turtle", path
        claim = next((site / "claims" / "kgbench-1").glob("*.ttl")).name
        assert kind(f"claims/kgbench-1/{claim}", "*/*") == "text/turtle"
        assert kind("ns/", "text/html,application/xhtml+xml,*/*;q=0.8") == "text/html"
        assert kind("data/all.nq.zst", "text/turtle") == "application/zstd"
        with pytest.raises(HTTPError, match="404"):
            kind("nothing", "text/turtle")
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE)
