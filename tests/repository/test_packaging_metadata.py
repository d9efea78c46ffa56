# SPDX-License-Identifier: Apache-2.0
"""The metadata in pyproject.toml and related files is consistent."""

import ast
import importlib
import importlib.metadata
import importlib.util
import re
import sys
import tomllib

import pytest

import kgbench
from kgbench.resources import FOLDERS

EXTRAS = {
    *("openai", "anthropic", "google", "google-legacy", "vllm", "local", "socks", "nanopub"),
    *("plots", "serve", "mcp", "tables", "publish", "dask", "inspect", "keyring"),
    *("all", "dev"),
}
#: The distribution that provides a module, where the names differ.
PROVIDED_BY = {
    "ruamel": "ruamel.yaml",
    "google": "google-genai",
    "inspect_ai": "inspect-ai",
    "sklearn": "scikit-learn",
}
#: Packages that are already installed if their objects are passed in, or errors caught (of rdflib).
BROUGHT = {"build", "pandas", "pyparsing", "pyproject_hooks", "pytest"}


@pytest.fixture(scope="module")
def project(repository):
    """Return the ``[project]`` table."""
    return tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def bare(requirement):
    """Return the normalised distribution name of a requirement."""
    return re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def test_version_stands_once(repository, project):
    """Package, metadata and citation state the same version."""
    cited = (repository / "CITATION.cff").read_text(encoding="utf-8")

    assert kgbench.__version__ == project["version"]
    assert f"\nversion: {project['version']}\n" in cited


def test_extras_are_those_promised(project):
    """There is an extra per provider and heavy feature; ``all`` leaves out what conflicts."""
    assert set(project["optional-dependencies"]) == EXTRAS
    (everything,) = project["optional-dependencies"]["all"]
    named = set(re.search(r"\[(.*)\]", everything)[1].split(","))
    assert named == EXTRAS - {"all", "dev", "vllm", "google-legacy", "inspect", "nanopub"}


def test_build_hook_packs_the_folders_that_resources_reads(repository):
    """The build hook, which cannot import kgbench, lists the same declared folders."""
    tree = ast.parse((repository / "hatch_build.py").read_text(encoding="utf-8"))
    (declared,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "DECLARED"
    )

    assert declared == FOLDERS


def test_entry_points_resolve(project):
    """Every module that an entry point names exists and can be imported."""
    groups = project["entry-points"]

    assert "kgbench.connectors" in groups
    for group, points in groups.items():
        for name in (value.partition(":")[0] for value in points.values()):
            # A plug-in of Inspect AI can only be imported where Inspect AI is installed.
            there = importlib.util.find_spec if group == "inspect_ai" else importlib.import_module
            assert there(name)


def imported(path):
    """Return the top-level names of all modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def test_every_imported_package_is_declared(repository, project):
    """Every package that the code imports is a dependency or in an extra, and none is idle."""
    extras = (entry for name, entry in project["optional-dependencies"].items() if name != "dev")
    declared = {bare(entry) for entry in project["dependencies"]}
    declared |= {bare(entry) for group in extras for entry in group}
    known = sys.stdlib_module_names | {"kgbench"} | BROUGHT
    found = {
        name
        for path in (repository / "kgbench").rglob("*.py")
        for name in imported(path)
        if name not in known
    }

    missing = {name for name in found if PROVIDED_BY.get(name, name).lower() not in declared}
    assert not missing
    used = {PROVIDED_BY.get(name, name).lower() for name in found}
    assert {bare(entry) for entry in project["dependencies"]} <= used
