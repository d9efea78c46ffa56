# SPDX-License-Identifier: Apache-2.0
"""The tools of a store or of a graph for clients of the Model Context Protocol."""
