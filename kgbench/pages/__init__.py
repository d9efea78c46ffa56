# SPDX-License-Identifier: Apache-2.0
"""Pages over a store, for the server and for publications: contents, drawings, templates, style."""
