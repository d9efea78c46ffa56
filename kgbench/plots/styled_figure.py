# SPDX-License-Identifier: Apache-2.0
"""A matplotlib figure that keeps its style when it is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

STYLE = Path(__file__).with_name("kgbench.mplstyle")


class StyledFigure(Figure):
    """A matplotlib figure in the style of kgbench.

    Matplotlib reads resolution, embedding of fonts and style of ticks only when it writes a file;
    without this class it would then use the user's settings.
    """

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Write the figure as :meth:`matplotlib.figure.Figure.savefig` does, in its style."""
        with mpl.rc_context(fname=str(STYLE)):
            super().savefig(*args, **kwargs)
