"""maxmargin explain [options] DATA: which solver a fit would take and why, its time, its memory, and what is odd."""

from __future__ import annotations

from . import translate_to_shell
from .exit_codes import Exit
from .report import describe_parameters, print_json
from .train import parse

USAGE = "[options] DATA"
DESCRIPTION = """What `maxmargin train` with the same options would do: roughly how long it takes and how much memory;
the solver that it uses, and why; features whose scale drowns out the others. It fits small parts of the data,
which takes a few per cent of the time of the fit, and saves nothing."""


def run(argv: list[str], program: str) -> int:
    """Read, diagnose, print."""
    arguments = parse(argv, program, USAGE, DESCRIPTION)
    from ..insight.diagnosis import diagnose
    from .fitting import prepare_training

    if arguments.blocks:
        raise ValueError("explain needs data in memory; leave out --blocks, or pass a part of the file.")
    training = prepare_training(arguments)
    y = training.y if training.machine.takes_targets else None
    found = diagnose(training.machine, training.X, y, training.weight)
    if arguments.json:
        print_json({
            "command": "explain", "estimator": found.model, "rows": found.n_samples, "features": found.n_features,
            "seconds": found.seconds, "at_least": found.at_least, "bytes": found.bytes, "solver": found.solver,
            "scale": found.scale, "parameters": describe_parameters(training.machine),
            "files": {"data": arguments.data},
        })  # fmt: skip
    else:
        print("\n".join(map(translate_to_shell, str(found).splitlines())))
    return Exit.SUCCESS
