# SPDX-License-Identifier: Apache-2.0
"""Models that run on this machine: files in GGUF format, and the engine that serves one.

``pip install 'kgbench[local]'`` installs the engine (llama.cpp, by the package ``xllamacpp``) and
the reader of GGUF files (``gguf``); the connector ``local`` starts the engine.
"""
