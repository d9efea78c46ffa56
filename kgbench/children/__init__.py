# SPDX-License-Identifier: Apache-2.0
"""Child processes: how they are started, limited, fed and ended, and why one ended.

Judging, serving, importing and examining stores hand work to children, because native code that
a model or a foreign file drives can run for ever, exhaust memory or overflow its stack, and cannot
be cancelled within a process.
"""
