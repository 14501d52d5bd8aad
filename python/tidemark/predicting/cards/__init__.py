"""The cards: a file NAME.json for each, which names its source."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any, Dict, List, Optional

from tidemark.errors import OptionError

FOLDER = pathlib.Path(__file__).resolve().parent
ENDLESS = 2**44  # bytes
_UNIT = 2**21  # the granularity of the driver
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


def load(name: str, memory: Optional[int] = None) -> Dict[str, Any]:
    """Returns a card, with `memory` bytes instead of its own. Raises OptionError for an unknown
    card, or for less memory than its context needs."""
    path = FOLDER / f"{name.lower()}.json"
    if not re.fullmatch(r"[\w-]+", name) or not path.exists():
        raise OptionError("is not a known card", name, "known: " + ", ".join(names()))
    card: Dict[str, Any] = json.loads(path.read_text())
    if "like" in card:
        card = _completed(card, load(card["like"]))
    if "chip_of" in card:  # that card was measured
        of = load(card["chip_of"])
        card = {**of, **card, "attributes": {**of["attributes"], **card["attributes"]}}
    if memory is not None:
        if memory <= card["context"]:
            raise OptionError("is less than the CUDA context needs", f"memory {memory}")
        card["memory"] = memory
    return card


def _completed(card: Dict[str, Any], like: Dict[str, Any]) -> Dict[str, Any]:
    """Completes a card that wasn't measured: its context is scaled by its number of threads."""
    attributes = {**like["attributes"], **card["attributes"]}

    def scaled(size: int) -> int:
        share = _threads(attributes) / _threads(like["attributes"])
        return int(size * share) // _UNIT * _UNIT

    uses = {name: {"memory": scaled(use["memory"]),
                   "addresses": [scaled(size) for size in use["addresses"]]}
            for name, use in like["first_uses"].items()}
    return {**like, "clusters": [], "context": scaled(like["context"]),
            "late_hole": scaled(like["late_hole"]), "blas_handle": scaled(like["blas_handle"]),
            "first_uses": uses, **card, "attributes": attributes}


def _threads(attributes: Dict[str, int]) -> int:
    multiprocessors, of_each = "16", "39"
    return attributes[multiprocessors] * attributes[of_each]


def endless(card: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the card with more memory than any program needs."""
    return {**card, "memory": ENDLESS}


def usual_size(needed: int) -> Optional[int]:
    """The smallest usual memory size in GiB that has room for `needed` bytes, or None."""
    return next((gib for gib in USUAL_GIB if needed <= gib << 30), None)


def for_cudnn(card: Dict[str, Any]) -> str:
    """The card in the JSON format of cuDNN's device descriptor."""
    attributes = {int(key): value for key, value in card["attributes"].items()}
    capability = 100 * attributes.get(75, 0) + 10 * attributes.get(76, 0)
    return json.dumps({
        "maxGridSize": [attributes.get(index, 0) for index in (5, 6, 7)],
        "maxBlockSize": [attributes.get(index, 0) for index in (2, 3, 4)],
        **{name: attributes.get(attribute, 0) for name, attribute in _CUDNN},
        "pciDeviceId": 0, "isTccDriver": 0, "deviceName": card["name"], "deviceVer": capability,
        "smVersion": capability, "driverVersion": 13000, "driverVer": 13000, "cudaDeviceId": 0,
        "totalGlobalMem": card["memory"]})
