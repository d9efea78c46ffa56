# SPDX-License-Identifier: Apache-2.0
"""vLLM, as a server or as an engine in this process.

``vllm:NAME@http://host:8000`` calls vLLM's OpenAI-compatible server (with the key in
``VLLM_API_KEY``, if it needs one). ``vllm:PATH-OR-NAME`` loads the model in this process and
answers batches with ``LLM.chat``: requests that arrive during a batch form the next one. A running
batch cannot be interrupted, so a call that exceeds its timeout is abandoned while the engine
finishes.
"""

from __future__ import annotations

import asyncio
import importlib
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from kgbench.connectors import CallAbandoned, Connector, error_bodies, openai, reply_signs
from kgbench.connectors.bodies import turns
from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import Declaration
from kgbench.connectors.options import Option, read
from kgbench.connectors.reply_signs import Meaning
from kgbench.connectors.servers import Service
from kgbench.errors import ContextTooLong, ModelSpecError, ProviderError, ProviderRefused
from kgbench.model import Json, ModelSetup, Reply, Request, Usage

# Passed to the engine if they are set, under vLLM's own names.
_ENGINE = {
    name: Option(kind, None, minimum, maximum, meaning=f"of the engine here: vLLM's `{name}`")
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
    "chat_template": Option(str, None, meaning="a Jinja template of chats, or a file with one"),
    "enable_thinking": Option(
        bool, None, meaning="passed to the template, where many understand it"
    ),
}
# Options of LLM-KG-Bench's configurations: the engine's context size, and texts around prompts.
_PUBLISHED = {
    "context_size": Option(int, None, 1, meaning="of the engine here: the same as `max_model_len`"),
    "startTag": Option(str, "", meaning="of the engine here: a text before every prompt"),
    "endTag": Option(str, "", meaning="of the engine here: a text after every prompt"),
}
_OPTIONS = {
    **_ENGINE,
    **_TEMPLATE,
    **_PUBLISHED,
    "batch": Option(int, 256, 1, meaning="of the engine here: conversations at once, at most"),
}
SERVICE = Service(None, None, ("VLLM_API_KEY",), "v1")
DECLARED = Declaration(
    specifications=("vllm:MODEL@ADDRESS", "vllm:PATH-OR-NAME"),
    options={**_OPTIONS, **openai.DECLARED.options},
    service=SERVICE,
    extra="vllm",
    native_tools=lambda setup: setup.base_url is not None,
)
_RESERVED = ("n", "detokenize", "output_kind", "prompt_logprobs", "logprobs")
_GATHER = 0.02  # seconds in which further requests may join a batch

Conversation = list[dict[str, str]]


def open(setup: ModelSetup, timeout: float) -> Connector:  # noqa: A001 - the interface
    """Return a connector for a vLLM server if ``setup`` has an address, else for this process."""
    if setup.base_url is not None:
        return openai.open(_on_server(setup), timeout, SERVICE)
    options = read(setup.options, _OPTIONS, setup.spec)
    for name in setup.sampling:
        if name in _RESERVED:
            raise ModelSpecError(f"{setup.spec}: '{name}' is not a sampling parameter")
    return InProcess(setup, options, Caller(setup.spec, timeout, model=setup.model_id))


def _on_server(setup: ModelSetup) -> ModelSetup:
    """Return ``setup`` for an OpenAI-compatible server, with its template as a parameter."""
    for name in setup.options:
        if name in (*_ENGINE, *_PUBLISHED, "batch"):
            raise ModelSpecError(
                f"{setup.spec}: '{name}' is for the engine in this process; a server is given it "
                f"when it is started"
            )
    template_options = {name: value for name, value in setup.options.items() if name in _TEMPLATE}
    options = {name: value for name, value in setup.options.items() if name not in _TEMPLATE}
    template = _chat_options(read(template_options, _TEMPLATE, setup.spec))
    return replace(setup, options=options, sampling={**setup.sampling, **template})


class _Waiting(NamedTuple):
    conversation: Conversation
    answered: asyncio.Future[Reply]


class InProcess:
    """A model whose engine runs in this process, loaded in ``__aenter__``; see the module."""

    def __init__(self, setup: ModelSetup, options: dict[str, Any], caller: Caller) -> None:
        self._setup = setup
        self._batch = options["batch"]
        self._engine_options = _engine_options(options, setup.spec)
        self._around = (options["startTag"], options["endTag"])
        self._chat_options = _chat_options(options)
        self._caller = caller
        self._thread = ThreadPoolExecutor(1, "vllm")
        self._waiting: deque[_Waiting] = deque()
        self._pending = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._engine: Any = None
        self._sampling: Any = None

    async def __aenter__(self) -> Self:
        """Load the model, which takes from seconds to many minutes.

        Raises :class:`~kgbench.errors.ModelSpecError` if it cannot be loaded.
        """
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._load)
        self._serving = asyncio.create_task(self._serve())
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Release the model's memory, once the current batch has ended."""
        assert self._serving is not None, "it was entered"
        self._serving.cancel()
        await asyncio.gather(self._serving, return_exceptions=True)
        for waiting in self._waiting:
            waiting.answered.cancel()
        await asyncio.to_thread(self._thread.shutdown)
        self._engine = None

    async def ask(self, request: Request) -> Reply:
        """Answer a conversation within a batch; see :meth:`kgbench.connectors.Connector.ask`."""
        start, end = self._around
        conversation = [
            {"role": role, "content": f"{start}{text}{end}" if role == "user" else text}
            for role, text in turns(request.messages)
        ]
        waiting = _Waiting(conversation, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._pending.set()
        try:
            async with asyncio.timeout(self._caller.timeout):
                return await waiting.answered
        except TimeoutError:
            raise self._caller.timeout_error() from None

    def withdraw(self) -> None:
        """Abandon the requests that the engine does not have yet."""
        for waiting in self._waiting:
            if not waiting.answered.done():
                waiting.answered.set_exception(CallAbandoned())

    def _load(self) -> None:
        try:
            vllm: Any = importlib.import_module("vllm")
        except ImportError:
            raise ModelSpecError(
                "vLLM is not installed: pip install 'kgbench[vllm]', or name a server "
                f"(vllm:{self._setup.model_id}@http://host:8000/v1)"
            ) from None
        try:
            engine: Any = vllm.LLM(self._setup.model_id, **self._engine_options)
            # vLLM's default of 16 tokens is too short for answers; None allows the rest of the
            # context. The model's recommended parameters override it, as on vLLM's server, and
            # the configured ones override both.
            recommended = engine.model_config.get_diff_sampling_param()
            chosen = {"max_tokens": None, **recommended, **self._setup.sampling}
            self._sampling = vllm.SamplingParams.from_optional(**chosen)
        except Exception as error:
            raise ModelSpecError(
                self._caller.describe(f"cannot be loaded ({type(error).__name__}): {error}")
            ) from error
        self._engine = engine

    async def _serve(self) -> None:
        """Answer batches until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._pending.wait()
            await asyncio.sleep(_GATHER)
            batch = self._next_batch()
            if not batch:
                continue
            conversations = [waiting.conversation for waiting in batch]
            try:
                results = await loop.run_in_executor(self._thread, self._chat, conversations)
            except asyncio.CancelledError:  # so that no caller keeps waiting
                for waiting in batch:
                    waiting.answered.cancel()
                raise
            for waiting, result in zip(batch, results, strict=True):
                if waiting.answered.done():
                    continue  # its timeout has passed
                if isinstance(result, Reply):
                    waiting.answered.set_result(result)
                else:
                    waiting.answered.set_exception(result)

    def _next_batch(self) -> list[_Waiting]:
        """Return the next batch: the oldest requests, without those that were cancelled."""
        batch: list[_Waiting] = []
        while self._waiting and len(batch) < self._batch:
            waiting = self._waiting.popleft()
            if not waiting.answered.done():
                batch.append(waiting)
        if not self._waiting:
            self._pending.clear()
        return batch

    def _chat(self, conversations: Sequence[Conversation]) -> list[Reply | ProviderError]:
        """Return the engine's answers; one bad conversation fails a batch, which is then split."""
        try:
            outputs = self._engine.chat(
                list(conversations), self._sampling, use_tqdm=False, **self._chat_options
            )
        except Exception as error:  # noqa: BLE001 - any exception of the engine is a failed call
            if len(conversations) == 1:
                return [self._failure(error)]
            return [self._chat([conversation])[0] for conversation in conversations]
        return [self._reply(output) for output in outputs]

    def _reply(self, output: Any) -> Reply | ProviderError:
        completion = output.outputs[0] if output.outputs else None
        if completion is None or completion.finish_reason is None:
            return self._caller.error("the engine gave the answer up")
        try:
            outcome = reply_signs.outcome(completion.finish_reason, content=bool(completion.text))
        except ProviderError as error:
            return self._caller.error(str(error))
        return Reply(
            text=completion.text,
            usage=Usage(
                input=len(output.prompt_token_ids or ()),
                output=len(completion.token_ids),
                cached=output.num_cached_tokens,
            ),
            model=self._setup.model_id,
            finish_reason=completion.finish_reason,
            request_id=output.request_id,
            outcome=outcome,
        )

    def _failure(self, error: Exception) -> ProviderError:
        message = self._caller.describe(f"{type(error).__name__}: {error}")
        sign = self._caller.sign(error_bodies.read(str(error)))
        if sign is not None and sign.meaning is Meaning.CONTEXT_TOO_LONG:
            return ContextTooLong(message)
        # vLLM's class of request errors is not imported: older versions lack it, and it has moved.
        kinds = {kind.__name__ for kind in type(error).__mro__}
        refused = kinds & {"VLLMClientError", "ValueError", "TypeError"}
        return ProviderRefused(message) if refused else ProviderError(message)


def _engine_options(options: dict[str, Any], spec: str) -> dict[str, Any]:
    """Return the engine's arguments that are set; ``context_size`` is its ``max_model_len``."""
    arguments = {name: options[name] for name in _ENGINE if options[name] is not None}
    size = options["context_size"]
    if size is None:
        return arguments
    if arguments.setdefault("max_model_len", size) != size:
        raise ModelSpecError(f"{spec}: 'context_size' and 'max_model_len' say different lengths")
    return arguments


def _chat_options(options: dict[str, Any]) -> dict[str, Json]:
    """Return the template arguments of ``LLM.chat`` that are set; a template may be in a file."""
    chosen: dict[str, Json] = {}
    template = options["chat_template"]
    if template is not None:
        in_file = "{" not in template
        try:
            text = Path(template).read_text(encoding="utf-8") if in_file else template
        except (OSError, UnicodeDecodeError) as error:
            raise ModelSpecError(f"the chat template {template} cannot be read: {error}") from None
        chosen["chat_template"] = text
    if options["enable_thinking"] is not None:
        chosen["chat_template_kwargs"] = {"enable_thinking": options["enable_thinking"]}
    return chosen
