# SPDX-License-Identifier: Apache-2.0
"""Plug-ins: found by entry points, imported by no other room, and what they import of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench import api, cli, entry_points, resources
from kgbench.errors import ResourceError
from kgbench.importers.archives import ResultFile
from kgbench.store import back_ends, quirks
from tests.plugins.core_imports import CORE_IMPORTS

PACKAGE = Path(cli.__file__).parents[1]
PLUGINS = PACKAGE / "plugins"
DOOR = "kgbench.api"
COMMAND = """\
PANEL = "Show to others"

def command(app):
    @app.command("shout")
    def shout(word: str):
        "Print a word in capitals."
        print(word.upper())
"""


def modules(path: Path) -> Iterator[str]:
    """Yield the modules of kgbench that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kgbench":
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                place = PACKAGE.parent.joinpath(*name.split("."))
                is_module = place.is_dir() or place.with_suffix(".py").is_file()
                yield name if is_module else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == "kgbench")


def test_the_core_imports_no_plugin() -> None:
    """No module outside ``kgbench/plugins/`` names a module in it."""
    core = (path for path in PACKAGE.rglob("*.py") if PLUGINS not in path.parents)

    assert not [path for path in core if "kgbench.plugins" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", sorted(path.parent.name for path in PLUGINS.glob("*/__init__.py")))
def test_what_a_plugin_imports_is_recorded(name: str) -> None:
    """A plug-in imports no other plug-in, and of the core the door and what is listed."""
    own = f"kgbench.plugins.{name}"
    found = {each for path in (PLUGINS / name).rglob("*.py") for each in modules(path)}
    others = {each for each in found if each != own and not each.startswith(f"{own}.")}

    assert {each.removeprefix("kgbench.") for each in others - {DOOR}} == CORE_IMPORTS[name]


def test_plugins_take_by_the_door_what_it_has() -> None:
    """No plug-in imports a name of the door from the place where it is defined."""
    places = set(api._PLACES.values())
    around = [
        f"{path.relative_to(PLUGINS)}: {node.module}.{alias.name}"
        for path in PLUGINS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module, alias.name) in places
    ]

    assert not around


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Provide a function that installs a package with a module and entry points."""

    def installed(package: str, points: dict[str, dict[str, str]], text: str = COMMAND) -> None:
        (tmp_path / f"{package}.py").write_text(text, encoding="utf-8")
        about = tmp_path / f"{package}-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        lines = [
            line
            for group, named in points.items()
            for line in (f"[kgbench.{group}]", *(f"{a} = {b}" for a, b in named.items()))
        ]
        (about / "entry_points.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
        entry_points.clear_caches()

    monkeypatch.syspath_prepend(tmp_path)
    yield installed
    monkeypatch.undo()
    entry_points.clear_caches()


def printed(*words: str) -> str:
    """Return what a command prints, of a command line that is built for it."""
    done = CliRunner().invoke(cli.build_app(cli._requested_commands(words)), words)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_command_of_another_package_is_one_among_others(install) -> None:
    """It stands in its panel, and runs."""
    install("loud_words", {"commands": {"shout": "loud_words"}})

    assert cli._requested_commands(["shout"]) == ["shout"]
    assert printed("shout", "yes") == "YES\n"
    shown = printed("--help")
    assert shown.index("Show to others") < shown.index("shout") < shown.index("Tasks, models")


SUBCOMMAND = """\
def words():
    "Write all words."
    print("all words")
"""


@pytest.mark.parametrize(("group", "command"), [("exports", "export"), ("importers", "import")])
def test_a_subcommand_of_another_package_is_one_among_others(install, group, command) -> None:
    """A function is a subcommand under the name of its entry point."""
    install("more_words", {group: {"many-words": "more_words:words"}}, SUBCOMMAND)

    assert printed(command, "many-words") == "all words\n"
    assert "Write all words." in printed(command, "--help")


def test_files_of_another_package_are_found_beside_those_of_kgbench(install, tmp_path) -> None:
    """A query of a package that brings something is found; one with a taken name is refused."""
    folder = tmp_path / "query_words" / "queries"
    folder.mkdir(parents=True)
    (folder / "own-query.rq").write_text("SELECT ?x WHERE { GRAPH ?g { ?x ?y ?z } }", "utf-8")
    (tmp_path / "query_words" / "__init__.py").touch()
    install("query_words", {"exports": {"words": "query_words:words"}})

    assert resources.text("queries", "own-query.rq").startswith("SELECT ?x")
    assert resources.files("queries", "own-*.rq") == [tmp_path / "query_words/queries/own-query.rq"]
    taken = resources.files("queries", "list-*.rq")[0].name
    (folder / taken).touch()
    with pytest.raises(ResourceError, match=f"/{taken} and .*/{taken} have the same name"):
        resources.files("queries", "*.rq")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("shout", "import nothing_of_this_name", "No module named 'nothing_of_this_name'"),
        ("run", COMMAND, "kgbench has one of this name"),
    ],
)
def test_an_unusable_command_is_named_and_spoils_no_other(
    install, name, text, reason, capsys
) -> None:
    """Code that cannot be imported and a name that is taken are reported in the list."""
    install("quiet_words", {"commands": {name: "quiet_words"}}, text)

    assert "Check the installation" in printed("--help")
    said = f"kgbench: '{name}' of quiet_words cannot be used: {reason}"
    assert said in capsys.readouterr().err


def test_two_packages_with_the_same_name_are_refused(install) -> None:
    """The message names both packages."""
    install("first_words", {"exports": {"words": "first_words:COMMAND"}})
    install("second_words", {"exports": {"words": "second_words:COMMAND"}})

    with pytest.raises(ResourceError, match=r"d_words \(.*d_words:.* both bring 'words'"):
        entry_points.load("kgbench.exports", "words")


def test_an_unknown_name_is_refused_with_the_nearest(install) -> None:
    """A misspelt name is refused with those that there are."""
    install("any_words", {"exports": {"words": "any_words:PANEL"}})

    assert entry_points.load("kgbench.exports", "words") == "Show to others"
    with pytest.raises(ResourceError, match=r"'wrods': did you mean words\?"):
        entry_points.load("kgbench.exports", "wrods")


SERVER = """\
from kgbench.api import ServerQuirks

class Quirks(ServerQuirks):
    truncating = ("X-Half",)

    def is_sender(self, headers):
        return headers.get("server") == "Shop"
"""
KIND = """\
@prefix kgb: <https://w3id.org/kgbench/ns#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .

<https://example.org/shop> a kgb:BackEnd ; skos:notation "shop" ; sh:order 9 ;
    kgb:queryPath "ask" ; kgb:updatePath "tell" ; kgb:requestLimit 10000 ; kgb:resultFormat "json" .
"""


def test_a_kind_of_server_of_another_package_is_one_among_others(install, tmp_path, request):
    """Its addresses are known by its name, and its quirks by what an answer says."""
    (tmp_path / "shop_words" / "store").mkdir(parents=True)
    (tmp_path / "shop_words" / "__init__.py").write_text(SERVER, "utf-8")
    (tmp_path / "shop_words" / "store" / "shop.ttl").write_text(KIND, "utf-8")
    request.addfinalizer(back_ends._kinds.cache_clear)
    back_ends._kinds.cache_clear()
    install("shop_words", {"stores": {"shop": "shop_words:Quirks"}})

    assert back_ends.find("http://h/x?engine=shop").update == "http://h/x/tell"
    found = quirks.of_sender({"Server": "Shop"})
    assert "X-Half: yes" in str(found.truncation(200, {"x-half": "yes"}))
    assert type(quirks.of_kind("shop")) is type(found) is not type(quirks.of_kind("fuseki"))


def test_result_files_of_another_format_are_read_by_a_package(install) -> None:
    """The suffix of a file chooses its reader."""
    text = "def lines(chunks, name):\n    return iter(b''.join(chunks).decode().split())\n"
    install("line_words", {"importers": {".lines": "line_words:lines"}}, text)

    assert list(ResultFile("a.LINES", b"one two").records()) == ["one", "two"]
    assert ".lines" not in printed("import", "--help")
