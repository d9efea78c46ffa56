# SPDX-License-Identifier: Apache-2.0
"""The house is built from the ground up: nothing imports from above, nothing heavy at once."""

import subprocess
import sys
from itertools import chain

import pytest

from docs.reference_pages import house

#: From the ground up; a part may import from those before it.
FLOORS = tuple(chain.from_iterable(floor.rooms for floor in house.FLOORS))
#: What costs a tenth of a second or more to import, and so waits until it is used.
HEAVY = (
    *("rdflib", "pyld", "pyshacl", "openai", "anthropic", "google.genai", "prov", "scipy"),
    *("matplotlib", "distributed", "starlette", "uvicorn", "nltk", "pyzipper", "cryptography"),
    *("ruamel.yaml", "numpy", "pandas", "inspect_ai"),
)


def test_imports_lead_downwards(repository):
    """No module imports a part that stands on its own floor's right or above it."""
    upwards = [
        f"{path.relative_to(repository)} imports kgbench.{name}"
        for path in sorted(house.PACKAGE.rglob("*.py"))
        for name in set(house.own_imports(path))
        if (mine := house.room_of(path))
        and {mine, name} <= set(FLOORS)
        and name != mine
        and FLOORS.index(name) > FLOORS.index(mine)
    ]

    assert not upwards


def test_every_part_has_its_floor():
    """Each module and folder of the package is listed, so that it cannot escape the rule."""
    parts = {house.room_of(path) for path in house.PACKAGE.rglob("*.py")} - {""}

    assert parts == set(FLOORS)


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
