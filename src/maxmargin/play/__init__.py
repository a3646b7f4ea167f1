"""The page that one plays with: `maxmargin play`, and the same page with a recorded fit, which needs no server.

choices.py        the models, kernels, losses and solvers that the page offers
requests.py       what the page asks for, checked
screens.py        decision values on a grid, step by step
fits.py           a fit as a stream of messages: begin, frames, end
slices.py         cuts of the risk in a view of one dimension
reproduction.py   the fit as Python code
page.py           the page as one file, from assets/; `write_player`
server.py         the page behind a token, and fits over a web socket
"""

from .page import write_player

__all__ = ["write_player"]
