"""``python -m rspca``: the command line."""

from rspca.cli import main

if __name__ == "__main__":
    main()
