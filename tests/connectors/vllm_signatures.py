# SPDX-License-Identifier: Apache-2.0
"""The parts of vLLM's interface that the in-process connector uses, and a stand-in with them.

The signatures were read from the wheel of vLLM 0.33.0 by :func:`of_wheel`; they are read again if
the environment variable ``VLLM_WHEEL`` names a wheel, which need not be installed.
"""

from __future__ import annotations

import ast
import inspect
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

# Callable -> names of its parameters; class -> names of its fields (of EngineArgs, those in use).
RECORDED: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("vllm-0.33.0.json").read_text(encoding="utf-8")
)

_PLACES = {
    "LLM.__init__": "vllm/entrypoints/llm.py",
    "LLM.chat": "vllm/entrypoints/llm.py",
    "SamplingParams.from_optional": "vllm/sampling_params.py",
    "RequestOutput.__init__": "vllm/outputs.py",
    "CompletionOutput": "vllm/outputs.py",
    "EngineArgs": "vllm/engine/arg_utils.py",
}


def of_wheel(wheel: Path) -> dict[str, list[str]]:
    """Return the parameters and fields of a wheel, in their order."""
    with zipfile.ZipFile(wheel) as archive:
        trees = {path: ast.parse(archive.read(path)) for path in set(_PLACES.values())}
    return {name: _names(trees[path], *name.split(".")) for name, path in _PLACES.items()}


def _names(tree: ast.Module, of_class: str, function: str | None = None) -> list[str]:
    found = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == of_class)
    if function is None:
        fields = (n.target for n in found.body if isinstance(n, ast.AnnAssign))
        return [field.id for field in fields if isinstance(field, ast.Name)]
    method = next(n for n in found.body if isinstance(n, ast.FunctionDef) and n.name == function)
    listed = [*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs]
    return [argument.arg for argument in listed if argument.arg != "self"]


class VLLMClientError(Exception):
    """Stand-in for the class of this name in ``vllm.exceptions``."""


Conversation = list[dict[str, str]]


def stand_in(answer: Callable[[Conversation], Any]) -> ModuleType:
    """Return a module ``vllm`` without an engine that takes exactly the recorded arguments.

    ``answer`` returns the text of each answer, or a ``(text, finish reason)``, or raises. Engines
    are kept in ``module.engines``, each with its ``options`` and ``batches``.
    """
    module: Any = ModuleType("vllm")
    module.engines = []

    class LLM:
        def __init__(self, *arguments: Any, **options: Any) -> None:
            own = {k: v for k, v in options.items() if k in RECORDED["LLM.__init__"]}
            assert set(options) <= set(own) | set(RECORDED["EngineArgs"])
            bound = _bind("LLM.__init__", arguments, own)
            if bound["model"] == "missing":
                raise OSError("missing is not a model")
            self.options = {**options, **bound}
            self.batches: list[list[Conversation]] = []
            recommended = {"temperature": 0.6, "top_p": 0.9}
            self.model_config = SimpleNamespace(get_diff_sampling_param=lambda: recommended)
            module.engines.append(self)

        def chat(self, *arguments: Any, **options: Any) -> list[Any]:
            self.chat_options = _bind("LLM.chat", arguments, options)
            self.batches.append(self.chat_options["messages"])
            return [_output(k, answer(said)) for k, said in enumerate(self.batches[-1])]

    def from_optional(**parameters: Any) -> Any:
        return SimpleNamespace(**_bind("SamplingParams.from_optional", (), parameters))

    module.LLM = LLM
    module.SamplingParams = SimpleNamespace(from_optional=from_optional)
    return module


def _bind(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(p, kind, default=None) for p in RECORDED[name]]
    return dict(inspect.Signature(parameters).bind(*arguments, **options).arguments)


def _output(number: int, given: Any) -> Any:
    text, reason = given if isinstance(given, tuple) else (given, "stop")
    completion = SimpleNamespace(**dict.fromkeys(RECORDED["CompletionOutput"]))
    completion.text, completion.finish_reason, completion.token_ids = text, reason, list(text)
    output = SimpleNamespace(**dict.fromkeys(RECORDED["RequestOutput.__init__"]))
    output.request_id, output.outputs, output.prompt_token_ids = str(number), [completion], [1, 2]
    return output
