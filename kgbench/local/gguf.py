# SPDX-License-Identifier: Apache-2.0
"""What a file in GGUF format says about its model."""

from __future__ import annotations

import hashlib
import importlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from kgbench.errors import ModelSpecError
from kgbench.model import ModelFile


def model_file(path: Path) -> ModelFile:
    """Return the digest of a file in GGUF format, and the statements of its header.

    Raises :class:`~kgbench.errors.ModelSpecError` if it cannot be read or has another format.
    """
    status = path.stat()
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _read(path: Path, changed: int, size: int) -> ModelFile:  # noqa: ARG001 - they identify content
    try:
        gguf: Any = importlib.import_module("gguf")
    except ImportError:
        raise ModelSpecError(
            f"local:{path.name}: the reader of GGUF files is not installed: "
            f"pip install 'kgbench[local]'"
        ) from None
    try:
        fields = gguf.GGUFReader(path).fields
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()

        def stated(key: str) -> Any:
            return fields[key].contents() if key in fields else None

        architecture = stated("general.architecture")
        template = stated("tokenizer.chat_template")
        kind = stated("general.file_type")
        return ModelFile(
            path=str(path),
            digest=digest,
            name=stated("general.name"),
            licence=stated("general.license"),
            file_type=None if kind is None else gguf.LlamaFileType(kind).name,
            template=None if template is None else hashlib.sha256(template.encode()).hexdigest(),
            context=stated(f"{architecture}.context_length"),
        )
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ModelSpecError(f"local:{path}: not a readable file in GGUF format: {error}") from None
