"""ultralytics: trains a small YOLO on images that are made here."""

import os
import tempfile
from pathlib import Path

import numpy as np
from _peak import finish
from PIL import Image

os.environ.setdefault("YOLO_OFFLINE", "true")
folder = Path(tempfile.mkdtemp())
os.environ["YOLO_CONFIG_DIR"] = str(folder)
from ultralytics import YOLO, settings  # noqa: E402

settings.update({"sync": False})
for kind in ("images", "labels"):
    (folder / kind).mkdir()
for number in range(8):
    pixels = np.full((64, 64, 3), 20 * number, dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "images" / f"{number}.png")
    (folder / "labels" / f"{number}.txt").write_text("0 0.5 0.5 0.4 0.4\n")
(folder / "data.yaml").write_text(
    f"path: {folder}\ntrain: images\nval: images\nnames:\n  0: square\n"
)
model = YOLO("yolov8n.yaml", verbose=False)
model.train(
    data=str(folder / "data.yaml"),
    epochs=1,
    imgsz=64,
    batch=4,
    workers=0,
    device=0,
    plots=False,
    verbose=False,
    amp=False,
    project=str(folder / "runs"),
)
finish("trained")
