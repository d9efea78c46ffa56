# SPDX-License-Identifier: Apache-2.0
"""``kgbench doctor`` reports working, missing and broken parts, and shows no key."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from http.server import BaseHTTPRequestHandler
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from kgbench.children import child
from kgbench.cli import app
from kgbench.datasets import home
from kgbench.doctor import State, files, installed, judging, keys, storage
from kgbench.serve import rendering
from kgbench.store import open_store, snapshots
from kgbench.store.protocol import Block
from tests.support.servers.handled import Handled, Quiet

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
SECRET = "sk-a-very-secret-key-0123456789"


def by_name(conditions):
    """Return conditions by their names."""
    return {condition.name: condition for condition in conditions}


@pytest.fixture
def location(tmp_path):
    """Return the location of a sound, empty store."""
    place = tmp_path / "results"
    open_store(str(place)).close()
    return place


# --- the command ------------------------------------------------------------------------------


def test_everything_is_looked_at_and_no_key_is_told(location, tmp_path, monkeypatch):
    """The command checks all parts; it shows names of variables, and no values."""
    monkeypatch.setattr(installed, "_extras", lambda: ["keyring"])  # all take seconds to import
    secrets = {"OPENAI_API_KEY": SECRET, "KGBENCH_TASK_KEY": SECRET, "KGBENCH_STORE": str(location)}
    environment = {**secrets, "KGBENCH_DATASETS": str(tmp_path / "none")}
    answer = CliRunner().invoke(app, ["doctor", "--json"], env=environment)
    said = json.loads(answer.output)
    parts = {condition["part"] for condition in said["conditions"]}

    assert answer.exit_code == 0, answer.output
    assert said["broken"] == 0
    assert parts == {
        *("software", "extras", "keys", "environment"),
        *("store", "data sets", "pages", "judging"),
    }
    assert "OPENAI_API_KEY" in answer.output
    assert "KGBENCH_TASK_KEY" in answer.output
    assert not any(SECRET[k : k + 8] in answer.output for k in range(len(SECRET) - 8))


def test_broken_things_are_said_and_counted(monkeypatch):
    """The exit code is 1 if anything is broken, which the output says."""
    broken = [storage.Condition("store", "content", State.BROKEN, "is upside down", "turn it")]
    monkeypatch.setattr("kgbench.doctor.examine", lambda *_, **__: iter(broken))
    answer = CliRunner().invoke(app, ["doctor"])

    assert answer.exit_code == 1
    assert re.search(r"broken +content +is upside down\n +turn it\n", answer.output)
    assert "1 thing is broken" in answer.output


def test_the_page_tells_of_states_and_options():
    """``docs/tutorial.md`` names every state and option of the command."""
    _, _, section = PAGE.partition("`kgbench doctor`")
    assert all(f"`{state.value}`" in section for state in State)
    assert {"--network", "--json"} <= set(re.findall(r"--[a-z]+", section))


# --- what is installed ------------------------------------------------------------------------


def test_every_extra_is_looked_at(repository):
    """The extras of pyproject.toml are reported, except the collecting ones."""
    text = (repository / "pyproject.toml").read_text("utf-8")
    declared = tomllib.loads(text)["project"]["optional-dependencies"]

    assert set(installed._extras()) <= set(declared) - {"all", "dev"}
    assert installed._extras()


def test_the_module_of_every_distribution_is_known(repository):
    """The module that is imported to check a dependency belongs to its distribution."""
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    users = [text for name, each in extras.items() if name not in {"all", "dev"} for text in each]
    names = {Requirement(text).name for text in [*project["dependencies"], *users]}
    there = [name for name in names if installed.installed(name) is not None]

    assert len(there) > len(project["dependencies"])
    assert not [name for name in there if find_spec(installed.module(name)) is None]


@pytest.mark.parametrize(
    ("asked", "state", "words"),
    [
        ("no-such-distribution-here>=1", State.ABSENT, "not installed: no-such"),
        ("rdflib>=999", State.BROKEN, "is not what kgbench needs (>=999)"),
        ("rdflib>=7", State.OK, "rdflib 7"),
    ],
)
def test_an_extra_is_there_missing_or_too_old(asked, state, words):
    """A missing extra is not a fault, an outdated one is; both have the exact command."""
    found = installed._extra("plots", [Requirement(asked)], {})

    assert found.state is state
    assert words in found.words
    wanted = None if state is State.OK else f"{sys.executable} -m pip install 'kgbench[plots]'"
    assert found.advice == wanted


def test_packages_that_cannot_be_imported_are_told_apart(tmp_path, monkeypatch):
    """A package that fails, one that ends the process and one that prints are judged separately."""
    (tmp_path / "module_fails.py").write_text("raise OSError('libnothing.so: not found')\n")
    (tmp_path / "module_dies.py").write_text("import os\nos._exit(9)\n")
    (tmp_path / "module_prints.py").write_text("print('hello')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = installed._importing(["module-dies", "module-fails", "module-prints"])

    assert found["module-fails"] == "OSError: libnothing.so: not found"
    assert "ended the process (exit status 9)" in found["module-dies"]
    assert found["module-prints"] == ""


def test_a_copy_that_is_not_installed_is_broken(monkeypatch):
    """Code without package metadata is reported as broken, without a traceback."""

    def missing(_):
        raise installed.metadata.PackageNotFoundError

    installed._requirements.cache_clear()
    monkeypatch.setattr(installed.metadata, "requires", missing)
    monkeypatch.setattr(installed.metadata, "metadata", missing)
    (found,) = installed.dependencies()

    assert found.state is State.BROKEN
    assert "not installed" in found.words
    assert list(installed.extras()) == []


# --- keys and servers -------------------------------------------------------------------------


def test_the_variables_are_those_that_connectors_read():
    """Connectors read keys and addresses only from declared variables."""
    sources = "".join(
        path.read_text("utf-8")
        for folder in ("connectors", "plugins")
        for path in (ROOT / "kgbench" / folder).rglob("*.py")
    )
    services = keys.services().values()

    assert set(keys.services()) >= {"openai", "anthropic", "google", "vllm"}
    named = {name for service in services for name in service.keys}
    assert set(re.findall(r'"([A-Z]+_API_KEY)"', sources)) == named
    addresses = {service.variable for service in services if service.variable}
    assert set(re.findall(r'"([A-Z_]+_BASE_URL)"', sources)) == addresses


def test_a_key_that_no_header_carries_is_broken(monkeypatch):
    """A key with a line break is broken, one with outer blanks is not."""
    monkeypatch.setenv("OPENAI_API_KEY", "one\ntwo")
    monkeypatch.setenv("GOOGLE_API_KEY", " key ")
    found = by_name(keys.provider_keys())

    assert found["openai"].state is State.BROKEN
    assert found["google"].state is State.OK
    assert found["google"].facts == {"variable": "GOOGLE_API_KEY", "place": "environment"}
    assert found["anthropic"].state is State.ABSENT
    assert "two" not in str(found)


def test_a_key_in_the_key_ring_is_told_by_its_entry(monkeypatch):
    """A key in the key ring is reported by its entry and not shown; a locked ring holds none."""
    entries = {("kgbench", "ANTHROPIC_API_KEY"): SECRET}
    errors = SimpleNamespace(KeyringError=OSError)
    ring = SimpleNamespace(get_password=lambda *entry: entries.get(entry), errors=errors)
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    found = by_name(keys.provider_keys())

    assert found["anthropic"].words == "a key is in the key ring: ANTHROPIC_API_KEY"
    assert found["openai"].state is State.ABSENT
    assert "keyring set kgbench OPENAI_API_KEY" in found["openai"].advice
    assert SECRET not in str(found)


class Asked(Quiet, BaseHTTPRequestHandler):
    """Responds with 401, as to a request without a key; records the request headers."""

    seen: list[dict[str, str]]

    def do_GET(self):
        """Respond with 200, 302 or 401."""
        self.seen.append(dict(self.headers))
        self.send_response({"/moved": 302, "/well": 200}.get(self.path, 401))
        self.send_header("Location", "http://192.0.2.1/")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def server():
    """Yield the address of a server on this machine."""
    Asked.seen = []
    with Handled(Asked) as opened:
        yield opened.url


def test_servers_that_the_environment_names_are_asked_without_keys(server, monkeypatch):
    """Any response counts, redirects are not followed, and no key is sent; silence is broken."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server}/v1")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", f"{server}/moved")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(keys, "_LIMIT", 60.0)  # seconds, so that a busy machine is not "silent"
    found = by_name(keys.servers())

    assert found["OPENAI_BASE_URL"].words.endswith("answers (HTTP 401)")
    assert found["GOOGLE_GEMINI_BASE_URL"].facts == {"status": 302}
    assert found["ANTHROPIC_BASE_URL"].state is State.BROKEN
    assert SECRET not in str(Asked.seen)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server}/well")
    assert by_name(keys.servers())["OPENAI_BASE_URL"].facts == {"status": 200}
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:{SECRET}@127.0.0.1/v1")
    assert SECRET not in str(by_name(keys.servers())["OPENAI_BASE_URL"])


# --- the store --------------------------------------------------------------------------------


def test_a_sound_store(location):
    """Path, size, snapshots, layout and content of a sound store are reported."""
    found = by_name(storage.store(str(location), network=False))

    assert {condition.state for condition in found.values()} <= {State.OK, State.NOTE}
    assert found["location"].facts["bytes"] > 0
    assert found["content"].facts["triples"] > 0
    assert found["owner"].state is State.OK


def test_a_store_that_another_process_owns(location):
    """The owner is named, and the store is read; the check does not take the lock."""
    with open_store(str(location)):
        found = by_name(storage.store(str(location), network=False))
        again = by_name(storage.store(str(location), network=False))

    assert found["owner"].state is State.NOTE
    assert found["location"].facts["owner"].isdecimal()
    assert found["content"].state is State.OK
    assert again["owner"] == found["owner"]


def test_a_store_whose_parts_disagree(location):
    """A graph that fails the check is reported as broken, by name."""
    graph = "https://w3id.org/kgbench/graph/run/x"
    with open_store(str(location)) as owned:
        owned.write([Block(graph, ["<http://e.org/a> <http://e.org/b> <http://e.org/c> ."])])
    found = by_name(storage.store(str(location), network=False))["content"]

    assert found.state is State.BROKEN
    assert graph in found.words
    assert "kgbench store check" in found.advice


def test_a_store_that_cannot_be_read_or_is_none(location, tmp_path):
    """A damaged store, a foreign folder, a missing one and memory have different states."""
    for manifest in location.glob("snapshots/*/CURRENT"):
        manifest.write_text("nonsense")
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").touch()

    def states(place):
        return {c.name: c.state for c in storage.store(str(place), network=False)}

    assert states(location)["content"] is State.BROKEN
    assert states(other) == {"location": State.BROKEN}
    assert states(tmp_path / "nowhere") == {"location": State.ABSENT}
    assert states("memory:") == {"location": State.NOTE}


def test_a_damaged_newest_snapshot_is_broken(location):
    """A damaged newest snapshot is reported with the older one in use, and advice."""
    assert "snapshot" not in by_name(storage.store(str(location), network=False))
    with open_store(str(location)) as store:
        store.write([Block("http://e.org/g", ["<http://e.org/a> <http://e.org/b> '1' ."])])
    newest, older = snapshots.all_of(location / "snapshots")[:2]
    (newest / "CURRENT").write_text("nonsense")
    found = by_name(storage.store(str(location), network=False))

    assert found["snapshot"].state is State.BROKEN
    assert newest.name in found["snapshot"].words
    assert older.name in found["snapshot"].words
    assert "kgbench store recover" in found["snapshot"].advice


def test_a_store_on_a_server_is_asked_only_with_leave(monkeypatch):
    """Without --network no socket is opened; with it, a silent server is broken."""

    def refuse(*_):
        raise AssertionError("a server was asked")

    place = "http://127.0.0.1:9/sparql?engine=oxigraph"
    with monkeypatch.context() as patched:
        patched.setattr("kgbench.doctor.storage.open_reader", refuse)
        quiet = by_name(storage.store(place, network=False))
    asked = by_name(storage.store(place, network=True))

    assert quiet["content"].state is State.NOTE
    assert "--network" in quiet["content"].advice
    assert asked["content"].state is State.BROKEN


# --- files ------------------------------------------------------------------------------------


def test_data_sets_there_gone_and_unknown(tmp_path, monkeypatch):
    """Data sets that are present, gone, unreadable or unknown have different states."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path))
    assert {c.state for c in files.data_sets()} == {State.ABSENT}
    for name in ("beastiary", "another"):
        home.folder_of(name).mkdir()
        (home.folder_of(name) / home.RECORD).write_text('{"installed": "today"}')
    found = by_name(files.data_sets())
    assert found["another"].state is State.NOTE
    assert found["beastiary"].state is State.BROKEN
    assert "gone" in found["beastiary"].words
    (file,) = files.descriptions.describe("beastiary").files
    (home.folder_of("beastiary") / file).write_text("")
    assert by_name(files.data_sets())["beastiary"].state is State.OK
    (home.folder_of("beastiary") / home.RECORD).write_text("{")
    assert by_name(files.data_sets())["beastiary"].state is State.BROKEN


def test_the_query_editor_there_partly_there_and_absent(tmp_path, monkeypatch):
    """The editor is expected where pages load it; an incomplete one is broken."""
    assert rendering.YASGUI.parent == files.YASGUI
    monkeypatch.setattr(files, "YASGUI", tmp_path)
    assert [c.state for c in files.pages()] == [State.ABSENT]
    (tmp_path / "yasgui.min.js").touch()
    assert [c.state for c in files.pages()] == [State.BROKEN]
    (tmp_path / "yasgui.min.css").touch()
    (tmp_path / "package.json").write_text('{"version": "4"}')
    assert [c.words for c in files.pages()] == ["version 4"]


# --- judging ----------------------------------------------------------------------------------


def test_a_lock_with_a_hole_is_broken(monkeypatch):
    """A worker process that can open sockets, or reports nothing, is broken."""
    open_door = "import json; print(json.dumps({'sockets': False, 'files': True, 'memory': True}))"
    for code, name in ((open_door, "sockets"), ("raise SystemExit(3)", "lockdown")):
        monkeypatch.setattr(child, "command", lambda *_, code=code: [sys.executable, "-c", code])
        (found,) = judging.lockdown()
        assert (found.name, found.state) == (name, State.BROKEN)


def test_a_judge_that_fails_is_broken(monkeypatch):
    """A reference answer that is judged wrong is reported as broken."""
    module = judging.catalogue.module(judging._CLASS)
    monkeypatch.setattr(module, "reference", lambda _: "nobody")
    (found,) = judging.judging()

    assert found.state is State.BROKEN
    assert "not judged correct" in found.words


def test_a_task_class_of_another_package_that_cannot_be_used_is_broken(monkeypatch):
    """An unusable task class of another package is named with a reason; the others are counted."""
    monkeypatch.setattr(judging.catalogue, "unusable", lambda: {"Theirs": "it has no folder"})
    found = by_name(judging.task_classes())

    assert found["Theirs"].state is State.BROKEN
    assert found["task classes"].state is State.OK
