# SPDX-License-Identifier: Apache-2.0
"""Mappings in RML and R2RML: read, and executed on files and tables that the caller hands over.

Nothing is opened: a source is found by its name among those of the caller, or the mapping is wrong.
"""
