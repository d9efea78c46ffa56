# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``python -m kgbench``, the same as the command ``kgbench``."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it, in a child process if it reads what others made."""
    try:
        from kgbench.cli import main as command_line
        from kgbench.cli.commands import supervised

        status = supervised(sys.argv[1:])
        if status is not None:
            raise SystemExit(status)
        command_line()
    except KeyboardInterrupt:  # during loading: a running command reports an interrupt itself
        sys.stderr.write("kgbench: interrupted\n")
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
