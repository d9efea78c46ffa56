# SPDX-License-Identifier: Apache-2.0
"""Loopback servers that implement the providers' protocols, correctly or with scripted faults."""
