# SPDX-License-Identifier: Apache-2.0
"""Generated worlds: graphs of invented things, and questions about them, made from seeds.

What worlds are made of is declared in ``tasks/world/model.ttl``. The version of the generator and
the seed identify a world, so nothing needs to be published before it is asked.
"""
