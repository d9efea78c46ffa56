# SPDX-License-Identifier: Apache-2.0
"""Mappings in RML and R2RML: reading them, and executing them on given files and tables.

No file is opened: a mapping may only name sources that the caller passes.
"""
