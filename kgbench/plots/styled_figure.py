# SPDX-License-Identifier: Apache-2.0
"""A figure that keeps its style when it is saved, by whom it may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

STYLE = Path(__file__).with_name("kgbench.mplstyle")


class StyledFigure(Figure):
    """A figure of matplotlib in the style of kgbench.

    Matplotlib asks for resolution, fonts to embed, and the look of ticks only when it writes a
    file, and would take the user's settings then.
    """

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Write the figure as :meth:`matplotlib.figure.Figure.savefig` does, in its style."""
        with mpl.rc_context(fname=str(STYLE)):
            super().savefig(*args, **kwargs)
