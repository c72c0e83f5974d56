"""Factors that turn an hour of a device into H100-equivalent hours.

A factor is the dense bf16 (fp16 where the device has no bf16) tensor throughput by the maker's data sheet, divided by
the H100 SXM's 989 TFLOP/s. It is a rough measure; a spec may override it, and the factor used stands in every record.
"""

from __future__ import annotations

from decimal import Decimal

H100_TFLOPS = Decimal(989)

TFLOPS: dict[str, Decimal] = {
    "B200": Decimal(2250),
    "H200": Decimal(989),
    "H100 SXM": Decimal(989),
    "H100 NVL": Decimal(835),
    "H100 PCIe": Decimal(756),
    "A100": Decimal(312),
    "L40S": Decimal(362),
    "L4": Decimal(121),
    "A40": Decimal(150),
    "A10": Decimal(125),
    "V100": Decimal(125),
    "T4": Decimal(65),
    "RTX 4090": Decimal(165),
    "RTX 3090": Decimal(71),
}
"""TFLOP/s, NVIDIA data sheets; the name is looked for in what the device calls itself."""


def factor_of(device_name: str) -> Decimal | None:
    """Return the factor of a device by its own name, None when it is not in the table."""
    name = device_name.replace("-", " ").upper()
    for known in sorted(TFLOPS, key=len, reverse=True):
        if known.upper() in name:
            return (TFLOPS[known] / H100_TFLOPS).quantize(Decimal("0.001"))
    if "H100" in name:
        return Decimal(1)
    return None
