# SPDX-License-Identifier: Apache-2.0
"""Every page has a test, every block parses, and every command is documented."""

import json
import re
import shlex
import subprocess
import tomllib

import pyoxigraph as ox
import pytest
import ruamel.yaml

from docs.reference_pages import command_line
from tests import documented
from tests.docs.test_sessions import PAGES

#: The tests that execute the content of a page, as far as possible without a network; the other
#: content is read by the tests of this file. Pages in ``PAGES`` are executed from top to bottom.
TESTED_BY = {
    "benchmarks.md": "docs/test_benchmarks.py",
    "challenges.md": "docs/test_text2sparql.py",
    "configuration.md": "config/test_docs.py",
    "connectors.md": "docs/test_connectors.py",
    "data-model.md": "docs/test_data_model.py",
    "exports.md": "plugins/exchange/test_docs.py",
    "papers.md": "plugins/papers/test_reproduction.py",
    "remote-store.md": "store/test_docs.py",
    "running.md": "engine/test_accounts.py",
    "text2kgbench.md": "docs/test_text2kg.py",
} | dict.fromkeys(PAGES, "docs/test_sessions.py")
#: Pages whose commands need other machines, hours or a release; they are only read here.
READ_ONLY = {"releasing.md"}

TEXTS = {path.name: path.read_text("utf-8") for path in sorted(documented.DOCS.glob("*.md"))}
BLOCKS = [
    pytest.param(mark.split()[0], body, id=f"{name}-{number}")
    for name, text in TEXTS.items()
    for number, (mark, body) in enumerate(documented.blocks(text))
]
COMMANDS = dict(command_line.commands())


def given(text):
    """Yield the kgbench commands of a page as words, without comments and pipes."""
    for mark, body in documented.blocks(text):
        if mark.split()[0] in {"console", "sh", "text"}:
            for line in re.sub(r"\\\n\s*", "", body).splitlines():
                found = re.match(r"(?:\$ )?(?:\S+=\S+ )*(?:\S*/)?(kgbench .*)$", line)
                if found and (line.startswith("$ ") or mark != "console"):
                    lexer = shlex.shlex(found[1], posix=True, punctuation_chars="|><&;")
                    lexer.whitespace_split = True
                    words = list(lexer)
                    ends = [k for k, word in enumerate(words) if set(word) <= set("|><&;")]
                    yield words[: ends[0]] if ends else words


def plugged(text):
    """Return the names of the entry points in the project files of a page."""
    files = [body for mark, body in documented.blocks(text) if mark.startswith("toml file=")]
    groups = [tomllib.loads(body).get("project", {}).get("entry-points", {}) for body in files]
    return {name for of_file in groups for points in of_file.values() for name in points}


def test_every_page_with_blocks_has_its_test():
    """A page with blocks is registered, and its test reads it."""
    with_blocks = {name for name, text in TEXTS.items() if documented.blocks(text)}

    assert with_blocks == set(TESTED_BY) | READ_ONLY
    for name, test in TESTED_BY.items():
        assert name in (documented.ROOT / "tests" / test).read_text("utf-8"), name


@pytest.mark.parametrize(("language", "body"), BLOCKS)
def test_every_block_can_be_read(language, body):
    """A block parses in the language that it is marked with."""
    if language == "python":
        compile(body, "block", "exec")
    elif language == "turtle":
        assert list(ox.parse(body, ox.RdfFormat.TURTLE, base_iri="https://example.org/"))
    elif language == "sparql":
        ox.Store().query(body)
    elif language == "yaml":
        assert ruamel.yaml.YAML(typ="safe").load(body)
    elif language == "json":
        assert json.loads(body)
    elif language == "toml":
        assert tomllib.loads(body)
    elif language == "sh":
        subprocess.run(["bash", "-n"], input=body, text=True, check=True)
    elif language == "console":
        script = "".join(command.text for command in documented.commands(body))
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    else:
        assert language == "text"


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_every_command_that_is_shown_exists(name):
    """Each kgbench command in a block exists, with the options that it is shown with.

    Those of a plug-in that the page makes run in the test of the page.
    """
    brought = plugged(TEXTS[name])
    for words in given(TEXTS[name]):
        if brought & {*words[1:3]}:
            continue
        path = next((p for k in (3, 2) if (p := " ".join(words[:k])) in COMMANDS), None)
        alone = set(words[1:]) <= {"--install-completion", "--show-completion", "--version"}
        assert path or alone, words
        known = {o for p in COMMANDS[path].params for o in command_line.flags(p)} if path else set()
        shown = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
        assert alone or shown <= known | {"--help", "--debug"}, words


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_told_of(name, repository):
    """Some page, or the README, describes the command; the reference lists its options."""
    text = "\n".join([*TEXTS.values(), (repository / "README.md").read_text("utf-8")])
    short = name.removeprefix("kgbench ")

    assert re.search(rf"\b{re.escape(name)}\b|`{re.escape(short.split()[-1])}`", text)
