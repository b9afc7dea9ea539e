"""The command line: app, options that commands share, one file a command; heavy imports wait inside commands."""

from rspca.cli.app import main

__all__ = ["main"]
