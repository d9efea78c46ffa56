# SPDX-License-Identifier: Apache-2.0
"""Google's models through google-genai: ``google:gemini-2.5-flash``.

The key is in ``GEMINI_API_KEY`` or ``GOOGLE_API_KEY``; a server at another address
(``google:MODEL@http://host``) may need none. The version of the API is ``v1beta`` unless the
address ends in another one or the option ``api_version`` names one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kgbench.connectors import generate_content
from kgbench.connectors.declared import Declaration
from kgbench.connectors.options import sampling
from kgbench.connectors.sdk import SdkConnector
from kgbench.connectors.servers import Service
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup, Reply, Request
from kgbench.net import environment
from kgbench.secrets.detection import scrub

if TYPE_CHECKING:
    from google.genai.types import GenerateContentResponse

SERVICE = Service(
    "https://generativelanguage.googleapis.com",
    "GOOGLE_GEMINI_BASE_URL",
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "v1beta",
)
DECLARED = Declaration(
    specifications=("google:MODEL", "google:MODEL@ADDRESS"),
    options=SERVICE.options(),
    service=SERVICE,
    extra="google",
    native_tools=lambda _: True,
    sampling=tuple(generate_content.SAMPLING),
)


class Google(SdkConnector):
    """A model at the generateContent API; see the module.

    With a given HTTP client and these options, the SDK never retries. It would make a synchronous
    client and a context for web sockets besides, with proxies and certificates of its own choice.
    """

    MODULE, NAME, OPTIONS = "google.genai", "Google", DECLARED.options

    def __init__(self, setup: ModelSetup, timeout: float) -> None:
        parameters = sampling(setup, generate_content.SAMPLING)
        super().__init__(setup, timeout, SERVICE)
        import httpx2
        from google.genai import types

        try:
            self._config = types.GenerateContentConfig(
                **parameters, should_return_http_response=True
            )
        except ValueError as error:
            raise ModelSpecError(f"{setup.spec}: {scrub(str(error))}") from None
        address = self._server.address
        tls = environment.tls_for(address.url)
        options = types.HttpOptions(
            base_url=address.base,
            api_version=address.version,
            httpx_client=httpx2.Client(trust_env=False, verify=tls),
            httpx_async_client=self._http,
            async_client_args={"ssl": tls},
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        key = self._server.key or "none"
        self._client = self._sdk.Client(vertexai=False, api_key=key, http_options=options)

    async def ask(self, request: Request) -> Reply:
        """Make one call; see :meth:`kgbench.connectors.Connector.ask`."""
        from google.genai import errors

        try:
            response = await self._answered(self._send(request))
        except errors.APIError as error:
            failed: Any = error.response  # the SDK's own reading of the body is not used
            return self._caller.failed(error.code, failed.text, failed.headers)
        http = response.sdk_http_response
        text = (http.body if http is not None else None) or ""
        return self._caller.read(text, generate_content.reply, None)

    async def _send(self, request: Request) -> GenerateContentResponse:
        from google.genai import types

        config = self._config
        if request.tools:
            functions = [
                types.FunctionDeclaration(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.parameters),
                )
                for tool in request.tools
            ]
            offered = [types.Tool(function_declarations=functions)]
            config = config.model_copy(update={"tools": offered})
        # Parsed from JSON, where signatures are base64: Python values would be encoded again.
        turns = map(json.dumps, generate_content.request_contents(request))
        try:
            contents = [types.Content.model_validate_json(turn) for turn in turns]
        except ValueError as error:  # the API sent something that this version of the SDK rejects
            raise self._caller.error(f"an earlier answer cannot be sent back: {error}") from None
        response: GenerateContentResponse = await self._client.aio.models.generate_content(
            model=self._setup.model_id, contents=contents, config=config
        )
        return response

    async def __aexit__(self, *exception: object) -> None:
        """Close the connections."""
        await super().__aexit__(*exception)
        self._client.close()


open = Google  # noqa: A001 - the interface
