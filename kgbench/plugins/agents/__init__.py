# SPDX-License-Identifier: Apache-2.0
"""Agents that search graphs by tools: their tasks, scripted agents, and an MCP server."""
