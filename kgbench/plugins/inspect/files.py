# SPDX-License-Identifier: Apache-2.0
"""Log files of Inspect AI: ``.json``, or ``.eval``, a zip archive of a header and samples.

Both are read without Inspect AI. Members of newer archives are compressed with Zstandard, which
needs the package ``zstandard``.
"""

from __future__ import annotations

import importlib
import io
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kgbench.api import ImportRefused, Json, pip_install
from kgbench.datasets import damage
from kgbench.net.limits import Budget

MAX_BYTES = 1 << 30
"""The largest log file, and the limit for all members of an archive (bytes)."""

MAX_SECONDS = 3_600.0
"""The default time limit (seconds)."""

MAX_SAMPLES = 200_000

_ZSTANDARD = 93  # the compression method in a zip archive
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature; lengths of the name and the extra field


@dataclass(frozen=True, slots=True)
class Log:
    """A log: the name of its file, its header, and its samples, sorted by epoch and id."""

    name: str
    header: dict[str, Json]
    samples: tuple[dict[str, Json], ...]


def read(path: Path, budget: Budget | None = None) -> Log:
    """Read a log file within ``budget``.

    Raises :class:`~kgbench.errors.ImportRefused` if it is not a log, or too large.
    """
    budget = budget or Budget(2 * MAX_BYTES, MAX_SECONDS)
    try:
        with path.open("rb") as stream:
            content = stream.read(min(MAX_BYTES, budget.bytes) + 1)
    except OSError as error:
        raise ImportRefused(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(content) > MAX_BYTES:
        raise ImportRefused(f"{path}: larger than {MAX_BYTES} bytes, the most that is read")
    budget.spend(len(content))
    if zipfile.is_zipfile(io.BytesIO(content)):
        header, samples = _read_archive(path.name, content, budget)
    else:
        header = _object(path.name, content)
        samples = header.pop("samples", None) or []
    if not isinstance(header.get("eval"), dict):
        raise ImportRefused(f"{path.name}: no log of Inspect AI: it has no field 'eval'")
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        raise ImportRefused(f"{path.name}: 'samples' is not a list of objects")
    return Log(path.name, header, tuple(sorted(samples, key=_sort_key)))


def _sort_key(sample: dict[str, Json]) -> tuple[str, str]:
    """Return a sort key that puts short numbers first, the same in both formats of a log."""
    epoch, name = (str(sample.get(field, "")).rjust(12, "0") for field in ("epoch", "id"))
    return epoch, name


def _read_archive(name: str, content: bytes, budget: Budget) -> tuple[dict[str, Json], list[Json]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {member.filename: member for member in archive.infolist()}
            samples = [
                filename for filename in members if re.fullmatch(r"samples/.*[.]json", filename)
            ]
            if "header.json" not in members:
                raise ImportRefused(
                    f"{name}: no log of Inspect AI, or of an evaluation that never ended: the "
                    "archive has no header.json"
                )
            if len(samples) > MAX_SAMPLES:
                raise ImportRefused(f"{name}: {len(samples)} samples are too many for one log")
            selected = [members[member] for member in ("header.json", *samples)]
            if sum(member.file_size for member in selected) > MAX_BYTES:
                raise ImportRefused(
                    f"{name}: it holds more than the {MAX_BYTES} bytes that are read"
                )
            budget.spend(sum(member.file_size for member in selected))
            members_read = _read_members(name, archive, content, selected)
            header, *documents = budget.within(members_read)
            return header, list(documents)
    except damage.errors() as error:
        raise ImportRefused(f"{name}: the archive is damaged ({error})") from error
    except RuntimeError as error:
        raise ImportRefused(f"{name}: the archive is encrypted; logs are not") from error


def _read_members(
    name: str, archive: zipfile.ZipFile, content: bytes, selected: list[zipfile.ZipInfo]
) -> Iterator[dict[str, Json]]:
    for member in selected:
        if member.compress_type == _ZSTANDARD:
            data = _zstandard(name, content, member)
        else:
            with archive.open(member) as stream:
                data = stream.read(member.file_size + 1)
        yield _object(f"{name}/{member.filename}", data)


def _zstandard(name: str, content: bytes, member: zipfile.ZipInfo) -> bytes:
    """Decompress a Zstandard member, which :mod:`zipfile` supports only from Python 3.14.

    At most the declared size is decompressed.
    """
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        raise ImportRefused(
            f"{name} is compressed with Zstandard: {pip_install('kgbench[inspect]')}, or make JSON "
            f"of it with 'inspect log convert --to json'"
        ) from None
    begin = member.header_offset
    signature, name_length, extra_length = _LOCAL_HEADER.unpack_from(content, begin)
    if signature != b"PK\x03\x04":
        raise ImportRefused(f"{name}: the archive is damaged: {member.filename} is not there")
    begin += _LOCAL_HEADER.size + name_length + extra_length
    compressed = io.BytesIO(content[begin : begin + member.compress_size])
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)
        data: bytes = reader.read(member.file_size + 1)
    except zstandard.ZstdError as error:
        raise ImportRefused(f"{name}: {member.filename} is damaged ({error})") from error
    if zlib.crc32(data) != member.CRC:
        raise ImportRefused(f"{name}: {member.filename} is damaged (its checksum is another)")
    return data


def _object(name: str, content: bytes) -> dict[str, Json]:
    try:
        value = json.loads(content.decode("utf-8-sig", "surrogatepass"), parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"{name}: no log of Inspect AI: it is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise ImportRefused(f"{name}: no log of Inspect AI: it is not a JSON object")
    return value


def _constant(word: str) -> float:
    """Convert ``NaN``, which Inspect writes for missing scores, and infinities."""
    return math.nan if word == "NaN" else math.inf
