"""The picture of docs/methods.md: what `rspca demo` draws of the breast cancer data.

python docs/shares_figure.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "rspca", "demo", "-o", folder], check=True)
        shutil.copyfile(Path(folder, "shares.png"), HERE / "_static" / "shares.png")


if __name__ == "__main__":
    main()
