"""Quantities of the API (``250m``, ``64Mi``, ``2e3``) as numbers and back.

Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

_FACTORS = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60}


def quantity(text: object) -> float:
    """Cores, bytes or a count; 0.0 for nothing and for what is no quantity."""
    word = str(text or "").strip()
    number, factor = word, 1.0
    if word[-2:] in _BINARY:
        number, factor = word[:-2], _BINARY[word[-2:]]
    elif word[-1:] in _FACTORS:
        number, factor = word[:-1], _FACTORS[word[-1]]
    try:
        return float(number) * factor
    except ValueError:
        return 0.0


def cpu_text(cores: float) -> str:
    """``250m`` below ten cores when it is no whole number, else cores: ``2``, ``12.5``."""
    if cores >= 10 or cores == int(cores):
        return f"{cores:.4g}"
    return f"{round(cores * 1000)}m"


def bytes_text(size: float) -> str:
    """``64Mi``, ``1.5Gi``: three digits in binary units."""
    for unit in ("", "Ki", "Mi", "Gi", "Ti"):
        if abs(size) < 1024:
            return f"{size:.3g}{unit}" if size < 1000 else f"{size:.0f}{unit}"
        size /= 1024
    return f"{size:.3g}Pi"
