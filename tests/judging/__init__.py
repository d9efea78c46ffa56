# SPDX-License-Identifier: Apache-2.0
"""Judging in children: what they are asked, what they endure, how they end."""
