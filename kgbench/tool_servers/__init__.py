# SPDX-License-Identifier: Apache-2.0
"""Tools of MCP servers that models are given: connecting, listing, calling, within limits."""
