# SPDX-License-Identifier: Apache-2.0
"""Secrets in texts: what a key looks like, where known keys stand, fingerprints of earlier keys.

Every room that hides or refuses keys uses this one: connectors and stores for messages, the engine
for its log, configurations, publications, and the check of publications. All searches take time in
proportion to the length of the text.
"""
