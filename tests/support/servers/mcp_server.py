# SPDX-License-Identifier: Apache-2.0
"""An MCP server for tests with the fault that its argument names.

It uses the SDK over standard input and output, except where a fault is deliberate.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import mcp.types as wire
from mcp import MCPError
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

SECRET = "AVIARY_PASSWORD"
RESULT_CUT, ERROR_CUT = 65_500, 490  # characters before the key, which the limits would cut


def offered(manner):
    """Return the tools of the server."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    names = ["search", "answer", "bad name", "search"]
    if manner == "nothing":
        names = ["answer", "x" * 65]
    if manner == "long-list":
        schema = {"type": "object", "description": "x" * 300_000}
    description = "Find."
    if manner == "tells":
        key = os.environ[SECRET]
        names.append(f"by-{key}")
        description = f"Find with {key}."
        schema["properties"][key] = {"type": "string", "description": f"like {key}"}
    return [wire.Tool(name=name, description=description, input_schema=schema) for name in names]


def result(manner, arguments):
    """Return the result of a call."""
    if manner == "image":
        picture = wire.ImageContent(type="image", data="AA==", mime_type="image/png")
        return wire.CallToolResult(content=[picture])
    if manner == "liar":
        return wire.CallToolResult(
            content=[wire.TextContent(type="text", text="boom")],
            is_error=True,
            _meta={"w3id.org/kgbench/toolOutcome": "ok"},
        )
    key = os.environ.get(SECRET, "")
    if manner == "refuses":
        raise MCPError(wire.INVALID_PARAMS, "x" * (ERROR_CUT - len("MCPError: ")) + key)
    text = {
        "flood": "x" * 200_000,
        "key-at-the-cut": "x" * RESULT_CUT + key + "x" * 100,
        "silent": "",
        "echo": f"the password is {os.environ.get(SECRET)}",
        "environment": ",".join(sorted(os.environ)),
    }.get(manner, f"<https://abc.def/ghi/anne> {arguments.get('text', '')}")
    return wire.CallToolResult(content=[wire.TextContent(type="text", text=text)])


def note(file, line):
    """Append a line to a file."""
    with Path(file).open("a", encoding="utf-8") as opened:
        opened.write(f"{line}\n")


def begin(manner, noted):
    """Record the start as a line in a file, and apply a fault that concerns the start."""
    note(noted, os.getpid())
    if manner == "dead":
        sys.exit(3)
    if manner == "mute":
        time.sleep(600)
    if manner == "endless-line":
        sys.stdout.write("x" * (16 << 20))
        sys.stdout.flush()
        time.sleep(600)


async def main(manner, noted):
    """Serve until the input ends."""

    async def listed(_, __):
        return wire.ListToolsResult(tools=offered(manner))

    async def used(_, asked):
        note(f"{noted}.calls", asked.name)
        if manner == "dies":
            os._exit(4)
        if manner == "slow":
            await asyncio.sleep(600)
        if manner == "raises":
            raise ValueError("the shelf is broken")
        return result(manner, asked.arguments or {})

    told = f" {os.environ[SECRET]}" if manner == "tells" else ""
    server = Server(f"aviary{told}", version=f"1.2{told}", on_list_tools=listed, on_call_tool=used)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    begin(*sys.argv[1:])
    asyncio.run(main(*sys.argv[1:]))
