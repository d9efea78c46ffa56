# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of the keys that a store has seen, to find these keys in its publications.

With the file of fingerprints one can find a key in a text, but learns nothing of the key except its
length. A fingerprint has 20 bits of a rolling hash, which select candidate positions in a text, and
an HMAC-SHA-256 of the whole key under a random secret of the file. The rolling hash is a polynomial
over bytes modulo 2^64 (Karp and Rabin, 1987), with a base that depends on that secret; all windows
of one length take one pass over the text. A key has five fingerprints: plain, in base64 at each of
three alignments, and in hexadecimal digits.

Keys of fewer than :data:`SHORTEST` bytes have no fingerprint, because it would allow guessing them.
They are not found, nor are keys with white space, nor the encodings that
:mod:`kgbench.secrets.detection` does not find. Hexadecimal digits with separators are searched for
known keys only.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from kgbench.errors import StoreError
from kgbench.secrets.detection import as_bytes, fold_base64, fold_hex, in_base64

if TYPE_CHECKING:
    import numpy as np

FILE: Final = "key-fingerprints.json"  # another format needs another name
SHORTEST: Final = 16

_BITS: Final = 20  # of a rolling hash
_CHUNK: Final = 1 << 16  # windows that are hashed together
# Only these parts of a text can contain a form of a key; most prose has none of them.
_SOLID = re.compile(rb"[!-~]{%d,}" % SHORTEST)
_DIGITS = re.compile(rb"(?:[\w+/-]{%d,}+[ \t\r\n]*+)++[\w+/-]*" % SHORTEST)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """One form of one key: ``plain``, ``base64`` or ``hex``; see the module text."""

    form: str
    length: int
    rolling: int
    proof: str


class Fingerprints:
    """The fingerprints in one file, as a search of :mod:`kgbench.secrets.detection`."""

    def __init__(self, secret: bytes, known: Iterable[Fingerprint] = ()) -> None:
        self._secret = secret
        self._known = dict.fromkeys(known)
        seed = hashlib.sha256(secret + b"base").digest()
        self._base = int.from_bytes(seed[:8], "big") | 1  # odd numbers are invertible modulo 2^64
        self._powers: tuple[Any, Any] | None = None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the fingerprints of the store in ``folder``; none if it has no such file.

        Raises :class:`~kgbench.errors.StoreError` if the file is damaged.
        """
        path = folder / FILE
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            known = [Fingerprint(**item) for item in content["fingerprints"]]
            secret = bytes.fromhex(content["secret"])
        except FileNotFoundError:
            return cls(secrets.token_bytes(32))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{path} cannot be read ({error}): restore it from a backup, or remove it; then "
                "keys that the store saw earlier are no longer looked for when it is published"
            ) from None
        return cls(secret, known)

    def __bool__(self) -> bool:
        return bool(self._known)

    def note(self, folder: Path, keys: Iterable[str]) -> None:
        """Add the fingerprints of ``keys`` to the file in ``folder``, readable by its owner only.

        Keys of fewer than :data:`SHORTEST` bytes are skipped. The file is replaced atomically.
        """
        new = {
            fingerprint: None
            for key in keys
            if len(as_bytes(key)) >= SHORTEST
            for fingerprint in self._forms(as_bytes(key))
            if fingerprint not in self._known
        }
        if new:
            self._known |= new
            self.keep(folder)

    def keep(self, folder: Path) -> None:
        """Write the file in ``folder``, atomically."""
        content = {
            "secret": self._secret.hex(),
            "fingerprints": [asdict(fingerprint) for fingerprint in self._known],
        }
        path = folder / FILE
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = path.with_name(f".{FILE}.{os.getpid()}")
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)

    # --- search ---------------------------------------------------------------------------------

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return the start and end of each plain key in ``data``: disjoint pairs, in order."""
        disjoint: list[tuple[int, int]] = []
        for part in _SOLID.finditer(data):
            offset = part.start()
            for start, end in sorted(self._occurrences(part.group(), "plain")):
                if not disjoint or offset + start >= disjoint[-1][1]:
                    disjoint.append((offset + start, offset + end))
        return disjoint

    def is_encoded_in(self, data: bytes) -> bool:
        """Return whether a key occurs in ``data`` in base64 or hexadecimal digits."""
        return any(
            any(True for _ in self._occurrences(fold(part.group()), form))
            for part in _DIGITS.finditer(data)
            for form, fold in (("base64", fold_base64), ("hex", fold_hex))
        )

    def identity(self) -> list[str]:
        """Return the proofs of all fingerprints."""
        return sorted(fingerprint.proof for fingerprint in self._known)

    def _occurrences(self, data: bytes, form: str) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each key in ``data``; spans may overlap."""
        hashes_by_length: dict[int, set[int]] = {}
        for fingerprint in self._known:
            if fingerprint.form == form and fingerprint.length <= len(data):
                hashes_by_length.setdefault(fingerprint.length, set()).add(fingerprint.rolling)
        proofs = {fingerprint.proof for fingerprint in self._known}
        for length, rolling in hashes_by_length.items():
            for start in self._candidates(data, length, sorted(rolling)):
                window = data[start : start + length]
                if self._proof(form, window) in proofs:
                    yield start, start + length

    def _candidates(self, data: bytes, length: int, rolling: list[int]) -> Iterator[int]:
        """Yield the starts of windows of ``length`` whose rolling hash is among ``rolling``."""
        import numpy as np

        numbers = np.frombuffer(data, dtype=np.uint8)
        for begin in range(0, len(data) - length + 1, _CHUNK):
            hashes = self._rolled(numbers[begin : begin + _CHUNK + length - 1], length)
            for offset in np.flatnonzero(np.isin(hashes, rolling)):
                yield begin + int(offset)

    def _rolled(self, numbers: np.ndarray, length: int) -> np.ndarray:
        """Return the rolling hash (``_BITS`` bits) of each window of ``length`` in ``numbers``."""
        import numpy as np

        size = len(numbers)
        powers, inverse = self._tables(size)
        sums = np.zeros(size + 1, dtype=np.uint64)
        np.cumsum((numbers.astype(np.uint64) + np.uint64(1)) * powers[:size], out=sums[1:])
        windows = (sums[length:] - sums[:-length]) * inverse[: size - length + 1]
        rolled: np.ndarray = windows >> np.uint64(64 - _BITS)
        return rolled

    def _tables(self, size: int) -> tuple[Any, Any]:
        """Return at least ``size`` powers of the base and of its inverse, modulo 2^64."""
        import numpy as np

        if self._powers is None or len(self._powers[0]) < size:
            tables = []
            for base in (self._base, pow(self._base, -1, 1 << 64)):
                factors = np.full(max(size, 1 << 10), base, dtype=np.uint64)
                factors[0] = 1
                tables.append(np.cumprod(factors, dtype=np.uint64))
            self._powers = tables[0], tables[1]
        return self._powers

    # --- making ---------------------------------------------------------------------------------

    def _forms(self, key: bytes) -> Iterator[Fingerprint]:
        yield self._fingerprint("plain", key)
        yield self._fingerprint("hex", key.hex().encode())
        for core in sorted(in_base64(key)):
            yield self._fingerprint("base64", core)

    def _fingerprint(self, form: str, text: bytes) -> Fingerprint:
        import numpy as np

        rolling = self._rolled(np.frombuffer(text, dtype=np.uint8), len(text))
        return Fingerprint(form, len(text), int(rolling[0]), self._proof(form, text))

    def _proof(self, form: str, text: bytes) -> str:
        return hmac.new(self._secret, form.encode() + b"\0" + text, "sha256").hexdigest()
