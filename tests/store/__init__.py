# SPDX-License-Identifier: Apache-2.0
"""Embedded stores and stores on servers."""
