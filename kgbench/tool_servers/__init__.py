# SPDX-License-Identifier: Apache-2.0
"""Clients of MCP servers whose tools models may use: connections, tool lists and calls."""
