"""One peer tried in this process: python -m benchmarks.peers.trial name case.pickle.

Prints the seconds of its fit. Without a case in the file it fits a small problem of every kind.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

from maxmargin import certify

from ..kernel.cases import Case, pose
from ..measuring.clock import time_once
from ..measuring.data import make_classes, make_clouds, make_friedman
from . import PEERS, Peer, transcribe


def list_small() -> list[Case]:
    """Two classes, five classes and a regression, 200 rows each."""
    return [
        pose("clouds", "SVC", *make_clouds(200), C=1.0),
        pose("five classes", "SVC", *make_classes(200), C=1.0),
        pose("friedman1", "SVR", *make_friedman(200), C=1.0),
    ]


def try_fit(peer: Peer, case: Case) -> float:
    """Fit, predict and judge; seconds of the fit."""
    X = case.give(peer.choose_forms(case)[0], peer.dtype)
    seconds, model = time_once(lambda: peer.fit(case, X, peer.give_targets(case)))
    model.predict(X[:10])
    certify(transcribe(model, case), case.X, case.y)
    return seconds


def main() -> None:
    """Try the peer that the command line names."""
    peer, case = PEERS[sys.argv[1]], pickle.loads(Path(sys.argv[2]).read_bytes())
    print(json.dumps(sum(try_fit(peer, one) for one in ([case] if case else list_small()))), flush=True)


if __name__ == "__main__":
    main()
