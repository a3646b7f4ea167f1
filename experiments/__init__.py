"""The experiments of a report on support vector machines, run again and judged: `make report` writes the page."""
