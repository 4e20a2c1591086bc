# SPDX-License-Identifier: Apache-2.0
"""A click command whose wrong arguments are answered in one line, `NAME: what is wrong`, with exit code 2."""

import sys

import click


def run(command, name, stopped="stopped"):
    """Runs the command and leaves the process with what it returns; `stopped` is said when somebody stops it."""
    try:
        sys.exit(command(standalone_mode=False))
    except click.ClickException as e:
        print(f"{name}: {' '.join(e.format_message().split())}", file=sys.stderr)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        print(f"{name}: {stopped}", file=sys.stderr)
        sys.exit(1)
