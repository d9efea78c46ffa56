# SPDX-License-Identifier: Apache-2.0
"""Signatures: Ed25519 keys, RDFC-1.0, and W3C Data Integrity proofs of ``eddsa-rdfc-2022``."""
