"""python -m maxmargin COMMAND [options]."""

from .cli import main

raise SystemExit(main())
