# SPDX-License-Identifier: Apache-2.0
"""Tools for models: how calls and results are worded, checked, limited, and tools over a graph."""
