# SPDX-License-Identifier: Apache-2.0
"""The server of ``kgbench serve``: a SPARQL endpoint and Linked Data pages over a store."""
