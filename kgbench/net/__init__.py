# SPDX-License-Identifier: Apache-2.0
"""HTTP clients with limits on the bytes and the time of every response.

:mod:`kgbench.net.limits` has the rules, :mod:`kgbench.net.client` the clients of stores and of the
provider SDKs, on the bodies and connections of :mod:`kgbench.net.transport`;
:mod:`kgbench.net.web` makes single requests, for endpoints, downloads and probes.
"""
