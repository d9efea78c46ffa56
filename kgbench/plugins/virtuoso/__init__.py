# SPDX-License-Identifier: Apache-2.0
"""Stores on servers of OpenLink Virtuoso."""
