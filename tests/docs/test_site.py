# SPDX-License-Identifier: Apache-2.0
"""The documentation site is built without warnings, complete, and without external files."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from rdflib import OWL, RDF, RDFS

from docs.reference_pages import command_line, declared, drawing, pages
from kgbench.rdf import queries
from kgbench.tasks import catalogue
from tests import documented

LOADING = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src")}


class Page(HTMLParser):
    """The links, loaded files and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        """Record the element."""
        values = dict(attrs)
        self.anchors.add(values.get("id"))
        for name, value in values.items():
            if (tag, name) in LOADING and values.get("rel") != "canonical":
                self.loaded.append(value)
            if name in {"href", "src"}:
                self.links.append(value)


@pytest.fixture(scope="module")
def site(repository, tmp_path_factory):
    """Return the site, as built by ``make site``."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    words = ["-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(
        [sys.executable, *words], cwd=repository, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr + built.stdout
    assert "WARNING" not in built.stderr
    return folder


@pytest.fixture(scope="module")
def read(site):
    """Return every page of the site by its path, parsed."""
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_nothing_is_loaded_from_elsewhere(site, read):
    """Styles, scripts, fonts and pictures are files of the site."""
    foreign = [url for page in read.values() for url in page.loaded if urlsplit(url).netloc]
    styles = [path.read_text("utf-8") for path in site.rglob("*.css")]

    assert read
    assert foreign == []
    assert not [text for text in styles if re.search(r"url\(['\"]?(?:https?:)?//", text)]


def test_links_lead_somewhere(site, read):
    """Every internal link leads to an existing page and anchor."""
    broken = []
    for path, page in read.items():
        for link in page.links:
            parts = urlsplit(link or "")
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchors = read[target].anchors if target in read else None
            if not target.is_file() or (parts.fragment and parts.fragment not in (anchors or ())):
                broken.append(f"{path.relative_to(site)}: {link}")

    assert broken == []


def test_lists_and_tables_are_shown_as_such(read):
    """No paragraph begins with the sign of a list or contains the bars of a table."""
    for path in read:
        text = re.sub(r"<(pre|code)[ >].*?</\1>", "", path.read_text("utf-8"), flags=re.DOTALL)
        for paragraph in re.findall(r"<p>(.*?)</p>", text, re.DOTALL):
            assert not re.search(r"^(?:[*-] |\|)", paragraph, re.MULTILINE), paragraph


def test_the_reference_is_complete():
    """Each class, property, query, metric, task class and command is in the reference."""
    made = pages()
    ontology = declared.graph("ontology", "kgbench.ttl")
    kinds = (OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty)
    terms = {declared.short(ontology, t) for k in kinds for t in ontology.subjects(RDF.type, k)}

    assert terms <= set(re.findall(r"^### (\S+)$", made["reference/vocabulary.md"], re.MULTILINE))
    headings = {
        name: set(re.findall(r"^## (.+)$", text, re.MULTILINE)) for name, text in made.items()
    }
    assert headings["reference/queries.md"] == set(queries.names())
    assert headings["reference/tasks.md"] == set(catalogue.task_classes())
    written = "\n".join(
        text for path, text in made.items() if path.startswith("reference/commands/")
    )
    commands = set(re.findall(r"^##? (kgbench .+)$", written, re.MULTILINE))
    assert {name for name, _ in command_line.commands()} <= commands
    assert "main metric ``" not in made["reference/tasks.md"]
    for name in catalogue.task_classes():
        described = catalogue.task_class(name)
        start = made["reference/metrics.md"].index(f"## {name} {described.version}\n")
        section = made["reference/metrics.md"][start:].split("\n## ")[0]
        assert set(described.metrics) == set(re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)), (
            name
        )


@pytest.mark.parametrize("edge", drawing.VOCABULARY_EDGES, ids=" ".join)
def test_every_arrow_of_the_vocabulary_is_declared(edge):
    """The diagram has properties between the classes that they are declared for."""
    found = declared.graph("ontology", "kgbench.ttl")
    term = declared.KGB[edge.label]
    of = {*found.objects(term, RDFS.domain), *found.objects(term, declared.SCHEMA.domainIncludes)}
    values = set(found.objects(term, RDFS.range))

    assert full(edge.start) in {declared.short(found, each) for each in of}
    assert full(edge.end) in {declared.short(found, each) for each in values}


def full(name):
    """Return a name in the diagram with its prefix."""
    return name if ":" in name else f"kgb:{name}"


def test_every_page_is_in_the_contents(repository):
    """The contents of the site list every written and every generated page.

    The hooks add the pages of commands.
    """
    named = set(
        re.findall(
            r"^\s+- .*: (\S+\.md)(?: #.*)?$", (repository / "mkdocs.yml").read_text(), re.MULTILINE
        )
    )
    written = {path.name for path in documented.DOCS.glob("*.md")}

    made = {name for name in pages() if name.endswith(".md") and "/commands/" not in name}
    assert named == written | made
