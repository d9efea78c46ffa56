# SPDX-License-Identifier: Apache-2.0
"""The house is built from the ground up: nothing imports from above, nothing heavy at once."""

import ast
import subprocess
import sys

import pytest

#: From the ground up; a part may import from those before it.
FLOORS = (
    *("errors", "vocab", "model", "on_demand", "resources", "rdf", "shapes", "validation"),
    *("scoring", "store", "datasets"),
    *("tasks", "connectors", "execution"),
    *("testing", "pytest_plugin"),
    *("record", "config", "software"),
    *(
        "evaluation",
        "comparison",
        "causes",
        "recorded_results",
        "reevaluation",
        "engine",
        "importers",
        "bridges",
    ),
    *("analysis", "plots", "pages", "publish", "exports", "serve", "doctor"),
    *("cli", "__main__"),
)
#: What costs a tenth of a second or more to import, and so waits until it is used.
HEAVY = (
    *("rdflib", "pyld", "pyshacl", "openai", "anthropic", "google.genai", "prov", "scipy"),
    *("matplotlib", "distributed", "starlette", "uvicorn", "nltk", "pyzipper", "cryptography"),
    *("ruamel.yaml", "numpy", "pandas", "inspect_ai"),
)


def part(path, package):
    """The part of the house a file belongs to; "" for the package's own __init__."""
    first = path.relative_to(package).with_suffix("").parts[0]
    return "" if first == "__init__" else first


def own_imports(path):
    """The parts of kgbench that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            if node.module == "kgbench":
                yield from (alias.name for alias in node.names)
            elif node.module.startswith("kgbench."):
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            names = (alias.name.split(".") for alias in node.names)
            yield from (name[1] for name in names if name[0] == "kgbench" and len(name) > 1)


def test_imports_lead_downwards(repository):
    """No module imports a part that stands on its own floor's right or above it."""
    package = repository / "kgbench"
    upwards = [
        f"{path.relative_to(repository)} imports kgbench.{name}"
        for path in sorted(package.rglob("*.py"))
        for name in set(own_imports(path))
        if (mine := part(path, package))
        and {mine, name} <= set(FLOORS)
        and name != mine
        and FLOORS.index(name) > FLOORS.index(mine)
    ]

    assert not upwards


def test_every_part_has_its_floor(repository):
    """Each module and folder of the package is listed, so that it cannot escape the rule."""
    package = repository / "kgbench"
    parts = {part(path, package) for path in package.rglob("*.py")} - {""}

    assert parts <= set(FLOORS)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    """Asking for help loads none of the packages that are slow to import."""
    code = (
        "import sys\n"
        "from kgbench.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout
