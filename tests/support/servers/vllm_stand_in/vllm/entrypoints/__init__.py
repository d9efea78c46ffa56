# SPDX-License-Identifier: Apache-2.0
"""Stand-in for a package of vLLM."""
