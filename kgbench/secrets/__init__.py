# SPDX-License-Identifier: Apache-2.0
"""Secrets in texts: patterns of keys, detection of known keys, the key of publications.

All packages that hide or refuse keys use this one: connectors and stores for messages, the engine
for its log, configurations, publications, and the check of publications. All searches take time
proportional to the length of the text.
"""
