# SPDX-License-Identifier: Apache-2.0
"""What a file in GGUF format says about its model."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from kgbench.errors import ModelSpecError
from kgbench.model import Json

#: Fields of the header, and the names under which they are recorded ("": not as they are).
_STATED = {
    "general.architecture": "",
    "general.name": "name",
    "general.license": "licence",
    "general.file_type": "",
    "tokenizer.chat_template": "",
}


def facts(path: Path) -> Mapping[str, Json]:
    """Return what is recorded about a file in GGUF format.

    ``digest`` (of the file) and ``chatTemplate`` (of its chat template) are SHA-256 in hexadecimal
    digits, ``context`` is the number of tokens that the model was trained for; ``name``,
    ``licence`` and ``fileType`` (the quantization) are texts. What the header of the file does not
    state is left out. Raises :class:`~kgbench.errors.ModelSpecError` if the file cannot be read or
    has another format.
    """
    status = path.stat()
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _read(path: Path, changed: int, size: int) -> Mapping[str, Json]:  # noqa: ARG001 - of a version
    try:
        gguf: Any = importlib.import_module("gguf")
    except ImportError:
        raise ModelSpecError(
            f"local:{path.name}: the reader of GGUF files is not installed: "
            f"pip install 'kgbench[local]'"
        ) from None
    try:
        fields = gguf.GGUFReader(path).fields
        header = {key: fields[key].contents() for key in _STATED if key in fields}
        length = f"{header.get('general.architecture')}.context_length"
        if length in fields:
            header["context"] = fields[length].contents()
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if (template := header.pop("tokenizer.chat_template", None)) is not None:
            header["chatTemplate"] = hashlib.sha256(template.encode()).hexdigest()
        if (kind := header.pop("general.file_type", None)) is not None:
            header["fileType"] = gguf.LlamaFileType(kind).name
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ModelSpecError(f"local:{path}: not a readable file in GGUF format: {error}") from None
    named = {_STATED.get(key, key): value for key, value in header.items()}
    return {"digest": digest, **{key: value for key, value in named.items() if key}}
