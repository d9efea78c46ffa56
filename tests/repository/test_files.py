# SPDX-License-Identifier: Apache-2.0
"""Rules for the files of the whole repository."""

import ast
import os
import re
import subprocess
import tomllib

import pytest

from docs.reference_pages import pages

LONGEST = 400
#: At least four words and a full stop; the linters check the length of lines.
SENTENCE = re.compile(r"\S+( \S+){3,}(?<=\.)")
LARGEST = 1024 * 1024


@pytest.fixture(scope="module")
def tracked(repository):
    """Return the files that git tracks, relative to the root."""
    if not (repository / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=repository, capture_output=True, text=True, check=True
    )
    names = (name for name in listed.stdout.split("\0") if name)
    return [name for name in names if (repository / name).is_file()]


@pytest.mark.parametrize(
    "name",
    [
        *("pyproject.toml", "README.md", "Makefile", "CHANGELOG.md", "CONTRIBUTING.md"),
        *("LICENSE", "CITATION.cff", ".ci/run", "kgbench/py.typed"),
        *("ontology", "shapes", "tasks", "queries", "store", "kgbench", "tests", "bench"),
    ],
)
def test_the_house_is_complete(repository, name):
    """Every file and folder that the project promises exists."""
    assert (repository / name).exists()


def test_modules_are_short_and_carry_their_licence(repository, tracked):
    """Each Python file begins with its SPDX line, and has at most 400 lines."""
    header = "# SPDX-License-Identifier: Apache-2.0\n"
    texts = {
        name: (repository / name).read_text("utf-8") for name in tracked if name.endswith(".py")
    }

    assert {name.partition("/")[0] for name in texts} >= {"kgbench", "bench", "docs", "tests"}
    assert not [name for name, text in texts.items() if len(text.splitlines()) > LONGEST]
    assert not [name for name, text in texts.items() if not text.startswith(header)]


def test_tests_say_what_must_hold(repository, tracked):
    """The first line of each test's docstring is a whole sentence."""
    said = {}
    for name in tracked:
        if re.fullmatch(r"(tests|tasks)/(.+/)?test_\w+\.py", name):
            for test in _tests(ast.parse((repository / name).read_text(encoding="utf-8"))):
                said[f"{name}:{test.lineno}"] = ast.get_docstring(test) or ""

    assert len(said) > 1000
    lines = {place: text.partition("\n")[0] for place, text in said.items()}
    assert not [place for place, line in lines.items() if not SENTENCE.fullmatch(line)]


def _tests(module):
    """Return the functions of a test module that pytest runs."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return (
        node
        for node in ast.walk(module)
        if isinstance(node, functions) and node.name.startswith("test_")
    )


def test_nothing_large_is_tracked(repository, tracked):
    """No file of the repository is larger than a mebibyte."""
    assert not [name for name in tracked if (repository / name).stat().st_size > LARGEST]


def test_every_ignored_rule_has_its_reason(repository):
    """Each ignored ruff rule in pyproject.toml stands on a line with a comment."""
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")
    lint = tomllib.loads(text)["tool"]["ruff"]["lint"]
    ignored = {
        *lint["ignore"],
        *(rule for group in lint["per-file-ignores"].values() for rule in group),
    }
    explained = set(re.findall(r'^\s+"([A-Z]+[0-9]*)",\s+# \S', text, flags=re.MULTILINE))

    assert ignored == explained


def test_every_suppression_names_its_rule(repository, tracked):
    """In code, ``noqa`` and ``type: ignore`` name the rules that they suppress."""
    code = [name for name in tracked if re.match(r"(kgbench|tasks|bench)/.*\.py$", name)]

    blanket = [
        f"{name}:{number}"
        for name in code
        for number, line in enumerate((repository / name).read_text("utf-8").splitlines(), 1)
        if re.search(r"#\s*noqa(?!: [A-Z]+[0-9]+)|#\s*type:\s*ignore(?!\[)", line)
    ]
    assert not blanket


def test_ci_script_runs_and_stops_at_the_first_failure(repository):
    """``.ci/run`` is executable, valid bash that stops at the first failing command."""
    script = repository / ".ci" / "run"
    text = script.read_text(encoding="utf-8")

    assert os.access(script, os.X_OK)
    assert "set -euo pipefail" in text
    assert "make test" in text
    assert "make lint" in text
    subprocess.run(["bash", "-n", str(script)], check=True)


@pytest.mark.parametrize(
    "target", ["run", "test", "test-all", "coverage", "lint", "site", "bench", "clean"]
)
def test_make_knows_the_promised_targets(repository, target):
    """Each promised make target exists and sets up its dependencies (dry run)."""
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    done = subprocess.run(
        ["make", "--dry-run", target],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_changelog_has_its_order(repository):
    """In each release Scores come first, then the headings of Keep a Changelog in order."""
    order = ["Scores", "Security", "Removed", "Deprecated", "Added", "Changed", "Fixed"]
    text = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]

    assert releases
    for release in releases:
        headings = re.findall(r"^### (.+)$", release, flags=re.MULTILINE)
        assert headings == [name for name in order if name in headings]


def test_links_between_documents_lead_somewhere(repository):
    """A relative link in a Markdown file names an existing file or a generated page."""
    made = {(repository / "docs" / name).resolve() for name in pages()}
    documents = [*repository.glob("*.md"), *(repository / "docs").rglob("*.md")]
    broken = [
        f"{document.name}: {target}"
        for document in documents
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", document.read_text("utf-8"))
        if not (path := document.parent / target).exists() and path.resolve() not in made
    ]

    assert not broken
