# SPDX-License-Identifier: Apache-2.0
"""The layers of the package: no import from a higher layer, and no slow import at start."""

import os
import subprocess
import sys
from itertools import chain

import pytest

from docs.reference_pages import house

#: From the lowest layer up; a part may import from those before it.
FLOORS = tuple(chain.from_iterable(floor.rooms for floor in house.FLOORS))
#: Packages that take a tenth of a second or more to import, and are imported when used.
HEAVY = (
    *("google.genai", "rdflib", "pyld", "openai", "anthropic", "httpx2", "prov", "scipy"),
    *("matplotlib", "distributed", "starlette", "uvicorn", "nltk", "pyzipper", "cryptography"),
    *("ruamel.yaml", "numpy", "pandas", "inspect_ai"),
)


def test_imports_lead_downwards(repository):
    """No module imports a part that comes later in the order of layers.

    Folders of families import the door, which loads only the names that they use.
    """
    rooms = [(path, house.room_of(path)) for path in sorted(house.PACKAGE.rglob("*.py"))]
    families = sorted((repository / "tasks").glob("*/*.py"))
    rooms += [(path, "families") for path in families if not path.name.startswith("test_")]
    upwards = [
        f"{path.relative_to(repository)} imports kgbench.{name}"
        for path, mine in rooms
        for name in set(house.own_imports(path))
        if mine
        and {mine, name} <= set(FLOORS)
        and name != mine
        and (path not in families or name != "api")
        and FLOORS.index(name) > FLOORS.index(mine)
    ]

    assert not upwards


def test_every_part_has_its_floor():
    """Each module and folder of the package belongs to a layer."""
    parts = {house.room_of(path) for path in house.PACKAGE.rglob("*.py")} - {""}

    assert parts == set(FLOORS)


@pytest.mark.parametrize(
    ("arguments", "needed", "said"),
    [
        (["--help"], (), "Usage"),
        (["run", "--help"], (), "Usage"),
        (["run", "--dry-run", "--task", "RdfFriendCount-nt-1"], ("ruamel.yaml",), "dialogues"),
    ],
    ids=["help", "help of a command", "a configuration that is accepted"],
)
def test_nothing_heavy_is_imported_needlessly(arguments, needed, said, tmp_path):
    """Neither help nor a plan imports a slow package that it does not need."""
    code = (
        "import sys\n"
        "from kgbench.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        f"sys.exit(f'loaded: {{heavy}}' if heavy != {list(needed)!r} else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "KGBENCH_STORE": str(tmp_path / "none")},  # no results to plan by
    )

    assert done.returncode == 0, done.stderr
    assert said in done.stdout
