# SPDX-License-Identifier: Apache-2.0
"""Stores, embedded and on servers."""
