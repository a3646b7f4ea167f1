"""Other libraries that fit kernel machines, behind one set of attributes: scikit-learn's."""

from .peer import PEERS, Peer, Skip, find_peers, guard, pilot, transcribe

__all__ = ["PEERS", "Peer", "Skip", "find_peers", "guard", "pilot", "transcribe"]
