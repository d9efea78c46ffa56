# SPDX-License-Identifier: Apache-2.0
"""Installation of a declared model from a wheel or a file, and how local models are named."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.config.specs import ANSWER_LIMIT, model_setup
from kgbench.connectors import local_models
from kgbench.errors import ImportRefused, ModelSpecError

MEMBER = "small/model.gguf"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep models in a folder of the test."""
    monkeypatch.setenv(local_models.VARIABLE, str(tmp_path / "models"))


@pytest.fixture
def small(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> local_models.LocalModel:
    """Declare the file of random weights as a model that can be installed."""
    content = tiny.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    model = replace(
        local_models.find("smollm2"), name="small", member=MEMBER, size=len(content), digest=digest
    )
    monkeypatch.setattr(local_models, "declared", lambda: {"small": model})
    return model


def wheel(path: Path, content: bytes, member: str = MEMBER) -> Path:
    """Write a wheel with one file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return path


def test_the_declared_models_can_be_named() -> None:
    """Each declared model has all that an installation needs."""
    for name, model in local_models.declared().items():
        assert local_models.find(name) == model
        assert len(model.digest) == 64
        assert model.page.startswith("https://")


def test_a_wheel_and_a_file_install_the_same(
    small: local_models.LocalModel, tiny: Path, tmp_path: Path
) -> None:
    """The model is taken out of the wheel or copied, and then answers to its name."""
    for source in (tiny, wheel(tmp_path / "small.whl", tiny.read_bytes())):
        small.path.unlink(missing_ok=True)
        assert local_models.install(small, source).read_bytes() == tiny.read_bytes()
        assert [path.name for path in local_models.home().iterdir()] == ["small.gguf"]
        assert model_setup("local:small").file["digest"] == small.digest


def test_another_file_is_refused(
    small: local_models.LocalModel, tiny: Path, tmp_path: Path
) -> None:
    """Neither another model, nor a larger one, nor a damaged wheel replaces what is installed."""
    local_models.install(small, tiny)
    other = tiny.read_bytes() + b"more"
    (tmp_path / "other.gguf").write_bytes(other)
    (tmp_path / "text").write_text("no wheel")
    sources = {
        tmp_path / "other.gguf": "does not hold the declared file",
        wheel(tmp_path / "large.whl", other): "does not hold the declared file",
        wheel(tmp_path / "strange.whl", other, "else"): "has no file",
        tmp_path / "text": "cannot be unpacked",
        tmp_path / "nowhere": "is not a file",
    }
    for source, words in sources.items():
        with pytest.raises(ImportRefused, match=words):
            local_models.install(small, source)
    assert small.path.read_bytes() == tiny.read_bytes()


def test_without_an_installer_the_message_says_what_to_do(
    small: local_models.LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without pip and uv, the page of the package and the option for a copy are named."""
    monkeypatch.setattr(local_models.metadata, "distributions", lambda **_: ())
    monkeypatch.setattr(local_models.shutil, "which", lambda _: None)
    with pytest.raises(ImportRefused, match=r"neither pip nor uv.*--from WHEEL"):
        local_models.install(small, None)


def test_a_failed_download_says_why(
    small: local_models.LocalModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The last line of pip is repeated, with the way round."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ImportRefused, match=r"cannot be downloaded: ERROR: .*--from PATH"):
        local_models.install(small, None)


def test_the_command_installs(small: local_models.LocalModel, tiny: Path) -> None:
    """The command says where the model is, and how to run it."""
    words = ["models", "install", "small", "--from", str(tiny)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "kgbench run --model local:small" in done.output
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert told == {"name": "small", "path": str(small.path), "sha256": small.digest}


def test_what_is_not_there_is_named(small: local_models.LocalModel, tmp_path: Path) -> None:
    """A model that is not installed, an unknown name and a missing file have a way round each."""
    with pytest.raises(ModelSpecError, match="kgbench models install small"):
        model_setup("local:small")
    with pytest.raises(ModelSpecError, match=r"cannot install a model 'smal'.*small"):
        model_setup("local:smal")
    with pytest.raises(ModelSpecError, match="there is no file"):
        model_setup(f"local:{tmp_path}/none.gguf")


def test_the_content_is_the_identity(tiny: Path, tmp_path: Path) -> None:
    """The folder of a file does not change a model, its content does."""
    same, other = tmp_path / "a" / "tiny.gguf", tmp_path / "b" / "tiny.gguf"
    for path, content in ((same, tiny.read_bytes()), (other, tiny.read_bytes() + b"\0")):
        path.parent.mkdir()
        path.write_bytes(content)
    setups = [model_setup(f"local:{path}") for path in (tiny, same, other)]

    assert {setup.label for setup in setups} == {setup.model_id for setup in setups} == {"tiny"}
    assert setups[0].iri == setups[1].iri != setups[2].iri
    assert not any(str(tmp_path) in f"{setup.iri}{setup.label}" for setup in setups)


def test_answers_have_a_limit(tiny: Path) -> None:
    """A local model has a limit of tokens unless the specification sets another."""
    assert model_setup(f"local:{tiny}").sampling["max_tokens"] == ANSWER_LIMIT
    assert model_setup(f"local:{tiny}?max_tokens=7").sampling["max_tokens"] == 7
