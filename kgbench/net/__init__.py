# SPDX-License-Identifier: Apache-2.0
"""HTTP clients with limits on the bytes and the time of every response.

:mod:`kgbench.net.limits` has the rules, which also hold for the clients of the provider SDKs (in
``connectors``). :mod:`kgbench.net.client` is the client of stores, on the connections of
:mod:`kgbench.net.transport`; :mod:`kgbench.net.web` makes single requests with it, for endpoints,
downloads and probes.
"""
