# SPDX-License-Identifier: Apache-2.0
"""RDF stores of others, asked the published queries."""
