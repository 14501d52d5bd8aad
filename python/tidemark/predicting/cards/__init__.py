"""The cards: one JSON file each, NAME.json, with its source."""

from __future__ import annotations

import json
import pathlib
from typing import Any, Dict, List

from tidemark.errors import OptionError

FOLDER = pathlib.Path(__file__).resolve().parent
USUAL_GIB = (8, 12, 16, 24, 32, 40, 48, 80, 96, 141, 180, 192, 288)

# Fields of the description that cuDNN reads, and the attribute (cudaDeviceAttr) of each.
_CUDNN = (
    ("regsPerBlock", 12), ("multiProcessorCount", 16), ("warpSize", 10),
    ("maxSharedMemoryPerBlock", 8), ("maxSharedMemoryPerBlockOptin", 97),
    ("reservedSharedMemoryPerBlock", 111), ("maxRegistersPerSM", 82), ("maxCtasPerSM", 106),
    ("maxThreadsPerBlock", 1), ("maxThreadsPerSM", 39), ("supportCoopLaunch", 95),
    ("smClockRateKHz", 13), ("memClockRateKHz", 36), ("l2CacheSize", 38))


def names() -> List[str]:
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(name: str) -> Dict[str, Any]:
    """Raises OptionError for a card that isn't known."""
    path = FOLDER / f"{name.lower()}.json"
    if not path.exists():
        raise OptionError("is no card that is known", name, "known: " + ", ".join(names()))
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def for_cudnn(card: Dict[str, Any]) -> str:
    """The card as cuDNN's descriptor of a device takes it."""
    attributes = {int(key): value for key, value in card["attributes"].items()}
    capability = 100 * attributes.get(75, 0) + 10 * attributes.get(76, 0)
    return json.dumps({
        "maxGridSize": [attributes.get(index, 0) for index in (5, 6, 7)],
        "maxBlockSize": [attributes.get(index, 0) for index in (2, 3, 4)],
        **{name: attributes.get(attribute, 0) for name, attribute in _CUDNN},
        "pciDeviceId": 0, "isTccDriver": 0, "deviceName": card["name"], "deviceVer": capability,
        "smVersion": capability, "driverVersion": 13000, "driverVer": 13000, "cudaDeviceId": 0,
        "totalGlobalMem": card["memory"]})
