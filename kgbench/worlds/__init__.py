# SPDX-License-Identifier: Apache-2.0
"""Generated worlds: graphs of invented things, and questions about them, drawn from seeds.

The classes and properties of worlds are declared in ``tasks/world/model.ttl``. The seed and the
version of the generator identify a world, so no case has to be published before it is used.
"""
