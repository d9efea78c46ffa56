# SPDX-License-Identifier: Apache-2.0
"""vLLM, as a server or as a child process.

``vllm:NAME@http://host:8000`` calls vLLM's OpenAI-compatible server (with the key in
``VLLM_API_KEY``, if it needs one). ``vllm:PATH-OR-NAME`` starts that server on this machine for the
time of a run (:mod:`kgbench.plugins.vllm.server`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import kgbench.api as kb
from kgbench.connectors import Connector, chat_completions, openai
from kgbench.connectors.declared import Declaration
from kgbench.connectors.local import Engine, Managed
from kgbench.connectors.servers import Service

# Passed to the engine if they are set, under vLLM's own names.
_ENGINE = {
    name: kb.Option(kind, None, minimum, maximum, meaning=f"of the engine here: vLLM's `{name}`")
    for name, kind, minimum, maximum in (
        ("tensor_parallel_size", int, 1, None),
        ("max_model_len", int, 1, None),
        ("gpu_memory_utilization", float, 0, 1),
        ("dtype", str, None, None),
        ("quantization", str, None, None),
        ("revision", str, None, None),
        ("tokenizer", str, None, None),
        ("trust_remote_code", bool, None, None),
        ("enforce_eager", bool, None, None),
    )
}
_TEMPLATE = {
    "chat_template": kb.Option(str, None, meaning="a Jinja template of chats, or a file with one"),
    "enable_thinking": kb.Option(
        bool, None, meaning="passed to the template, where many understand it"
    ),
}
# Options of LLM-KG-Bench's configurations: the engine's context size, and texts around prompts.
_PUBLISHED = {
    "context_size": kb.Option(
        int, None, 1, meaning="of the engine here: the same as `max_model_len`"
    ),
    "startTag": kb.Option(str, "", meaning="of the engine here: a text before every prompt"),
    "endTag": kb.Option(str, "", meaning="of the engine here: a text after every prompt"),
}
_OPTIONS = {
    **_ENGINE,
    **_TEMPLATE,
    **_PUBLISHED,
    "batch": kb.Option(int, 256, 1, meaning="of the engine here: vLLM's `max_num_seqs`"),
}
SERVICE = Service(None, None, ("VLLM_API_KEY",), "v1")
DECLARED = Declaration(
    specifications=("vllm:MODEL@ADDRESS", "vllm:PATH-OR-NAME"),
    options={**_OPTIONS, **openai.DECLARED.options},
    service=SERVICE,
    extra="vllm",
    embeddings=SERVICE,
    native_tools=lambda setup: setup.base_url is not None,
)
_LOADING = 3600.0  # seconds; a model may have to be downloaded
# Variables of the engine: of graphics cards, libraries and downloads.
_PASSED_ON = (
    *("CUDA_", "NVIDIA_", "HIP_", "ROCR_", "NCCL_", "LD_LIBRARY_PATH", "OMP_", "VLLM_", "TORCH"),
    *("PYTORCH_", "HF_", "HUGGINGFACE_", "TRANSFORMERS_", "XDG_CACHE_HOME", "SSL_CERT_"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)


def open(setup: kb.ModelSetup, timeout: float) -> Connector:  # noqa: A001 - the interface
    """Return a connector for a vLLM server: at the address of ``setup``, else started here."""
    if setup.base_url is None:
        return _started(setup, timeout)
    return openai.open(_on_server(setup), timeout, SERVICE)


def _on_server(setup: kb.ModelSetup) -> kb.ModelSetup:
    """Return ``setup`` for an OpenAI-compatible server, with its template as a parameter."""
    for name in setup.options:
        if name in (*_ENGINE, *_PUBLISHED, "batch"):
            raise kb.ModelSpecError(
                f"{setup.spec}: '{name}' is for an engine started here; a server is given it "
                f"when it is started"
            )
    template_options = {name: value for name, value in setup.options.items() if name in _TEMPLATE}
    options = {name: value for name, value in setup.options.items() if name not in _TEMPLATE}
    template = _chat_options(kb.read_options(template_options, _TEMPLATE, setup.spec))
    return replace(setup, options=options, sampling={**setup.sampling, **template})


class Started(Managed):
    """A model whose server was started here; ``around`` are texts before and after each prompt."""

    def __init__(self, around: tuple[str, str], *arguments: Any, **limits: Any) -> None:
        super().__init__(*arguments, **limits)
        self._around = around

    async def ask(self, request: kb.Request) -> kb.Reply:
        """Make one call; see :meth:`kgbench.connectors.Connector.ask`."""
        start, end = self._around
        messages = [
            text if k % 2 else f"{start}{text}{end}" for k, text in enumerate(request.messages)
        ]
        return await super().ask(replace(request, messages=tuple(messages)))


def _started(setup: kb.ModelSetup, timeout: float) -> Started:
    options = kb.read_options(setup.options, _OPTIONS, setup.spec)
    for name in setup.sampling:
        if name in chat_completions.RESERVED:
            raise kb.ModelSpecError(f"{setup.spec}: '{name}' is not a sampling parameter")
    arguments = _arguments(options, setup.spec)
    template = _chat_options(options)
    if "chat_template" in template:
        arguments += ["--chat-template", str(template.pop("chat_template"))]
    if find_spec("vllm") is None:
        raise kb.ModelSpecError(
            f"vLLM is not installed: {kb.pip_install('kgbench[vllm]')}, or name a server "
            f"(vllm:{setup.model_id}@http://host:8000/v1)"
        )
    served = replace(setup, options={}, sampling={**setup.sampling, **template})
    engine = Engine(
        "kgbench.plugins.vllm.server",
        {"arguments": ["--model", setup.model_id, *arguments]},
        setup.spec,
        environment=[n for n in os.environ if n.startswith(_PASSED_ON) and n not in SERVICE.keys],
        loading=_LOADING,
    )
    around = (options["startTag"], options["endTag"])
    return Started(around, served, engine, timeout, slots=options["batch"])


def _arguments(options: Mapping[str, Any], spec: str) -> list[str]:
    chosen = {name: options[name] for name in _ENGINE if options[name] is not None}
    size = options["context_size"]
    if size is not None and chosen.setdefault("max_model_len", size) != size:
        raise kb.ModelSpecError(f"{spec}: 'context_size' and 'max_model_len' say different lengths")
    arguments = ["--max-num-seqs", str(options["batch"])]
    for name, value in chosen.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif value is not False:
            arguments += [option, str(value)]
    return arguments


def _chat_options(options: dict[str, Any]) -> dict[str, kb.Json]:
    """Return the parameters of requests for the template; a template may be in a file."""
    chosen: dict[str, kb.Json] = {}
    template = options["chat_template"]
    if template is not None:
        in_file = "{" not in template
        try:
            text = Path(template).read_text(encoding="utf-8-sig") if in_file else template
        except (OSError, UnicodeDecodeError) as error:
            raise kb.ModelSpecError(
                f"the chat template {template} cannot be read: {error}"
            ) from None
        chosen["chat_template"] = text
    if options["enable_thinking"] is not None:
        chosen["chat_template_kwargs"] = {"enable_thinking": options["enable_thinking"]}
    return chosen
