# SPDX-License-Identifier: Apache-2.0
"""The folder of harvested sources: for each one a store of its own, and where it comes from.

::

    FOLDER/NAME/source.json   address, base, version, keys, parts with their digests, time
    FOLDER/NAME/store/        its results, and nothing of others
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from kgbench.errors import ResourceError
from kgbench.signing.history import Entry, History

STATE: Final = "source.json"


@dataclass(frozen=True, slots=True)
class Harvested:
    """What was harvested of a source.

    ``signer`` is the key (Multikey) that signed it, ``None`` where nobody did; ``vouched`` says
    whether a key that the harvester named vouches for that one. ``keys`` are those of the signer.
    ``sums`` is the SHA-256 of its ``SHA256SUMS``; ``parts`` have those of its data by their paths.
    """

    name: str
    address: str
    base: str
    version: int
    harvested: str
    sums: str
    signer: str | None = None
    vouched: bool = False
    keys: tuple[Entry, ...] = ()
    parts: dict[str, str] = field(default_factory=dict)

    @property
    def history(self) -> History:
        """The keys of its signer."""
        return History(self.keys)

    def is_called(self, name: str) -> bool:
        """Whether a user means this source: by its name, address, base, or the key of it."""
        called = {self.name, self.address, self.address.rstrip("/"), self.base, self.signer}
        return name in called or name in self.history.entries


def read(folder: Path) -> Harvested | None:
    """The source in ``folder/source.json``; ``None`` where there is none.

    Raises :class:`~kgbench.errors.ResourceError` where it is damaged.
    """
    path = folder / STATE
    try:
        said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Harvested(**{**said, "keys": tuple(Entry(**one) for one in said["keys"])})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise ResourceError(
            f"{path} cannot be read ({error}): remove {folder}, harvest again"
        ) from (None)


def write(folder: Path, found: Harvested) -> None:
    """Record a source, in one step."""
    text = json.dumps(asdict(found), indent=1, ensure_ascii=False)
    unfinished = folder / f".{STATE}.unfinished"
    unfinished.write_text(text + "\n", encoding="utf-8")
    unfinished.replace(folder / STATE)


def every(folder: Path) -> Iterator[tuple[Path, Harvested]]:
    """All sources in a folder of sources, by name.

    Raises :class:`~kgbench.errors.ResourceError` where there are none.
    """
    found = [(path, read(path)) for path in sorted(folder.glob("*")) if path.is_dir()]
    known = [(path, one) for path, one in found if one is not None]
    if not known:
        raise ResourceError(
            f"{folder} has no harvested sources: kgbench harvest URL --into {folder}"
        )
    yield from known
