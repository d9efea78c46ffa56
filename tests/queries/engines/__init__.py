# SPDX-License-Identifier: Apache-2.0
"""Other RDF stores answer the published queries."""
