# SPDX-License-Identifier: Apache-2.0
"""Models that vLLM serves, at an address or started on this machine for the time of a run."""
