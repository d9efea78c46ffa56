# SPDX-License-Identifier: Apache-2.0
"""Tools of a store or graph for clients of the Model Context Protocol (MCP)."""
