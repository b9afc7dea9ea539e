"""The picture of the README and two pages: a report of the wine data of scikit-learn, photographed in Chromium.

python docs/report_figure.py    (needs Chromium, playwright and Pillow; RSPCA_CHROMIUM names another browser)
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_wine

COMMAND = "rspca fit wine.csv -k 4 -n 4 --scale yes --certify --label cultivar -o out"
"""The command of README.md and docs/tutorial.md, above the picture there."""
FIGURE = Path(__file__).resolve().parent / "figures" / "report.png"


def written(folder: Path) -> Path:
    """Return the report that the command of the README writes."""
    wine = load_wine(as_frame=True)
    wine.data.assign(cultivar=wine.target_names[wine.target]).to_csv(folder / "wine.csv", index=False)
    subprocess.run([sys.executable, "-m", *COMMAND.split()], cwd=folder, check=True)
    return folder / "out" / "report.html"


if __name__ == "__main__":
    path = os.environ.get("RSPCA_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise SystemExit("No Chromium found; install the package chromium, or set RSPCA_CHROMIUM to its path.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=options)
        page = browser.new_page(viewport={"width": 1060, "height": 1000})
        page.goto(written(Path(folder)).as_uri())
        box = page.locator("#scatter").bounding_box()
        clip = {"x": 0, "y": 0, "width": 1060, "height": box["y"] + box["height"] + 10}
        picture = page.screenshot(full_page=True, clip=clip)
        browser.close()
    Image.open(io.BytesIO(picture)).quantize(255, dither=Image.Dither.NONE).save(FIGURE, optimize=True)
    print(f"{FIGURE.name}: {FIGURE.stat().st_size:,} bytes")
