"""Records interpolations with scale factors that do not reproduce the size, computed by torch on the CPU, as msProbe's dumper
does: one folder per number of axes with dump.json and dump_tensor_data/*.pt.

    shortcuts.py FOLDER

Torch's kernels have shortcuts for axes that keep or double their length, each mode and direction its own. All modes, with factors
for each axis, with sizes, with align_corners and recompute_scale_factor, forward and backward. Needs torch (1.13, whose kernels
these are)."""

import itertools
import pathlib
import sys

import torch

from oracle import Category, Lcg, numbers

# By the number of axes: their lengths, the modes, and names of Aten's functions of some of them.
LENGTHS = {1: [6], 2: [4, 7], 3: [2, 4, 3]}
MODES = {1: ["nearest", "nearest-exact", "linear", "area"], 2: ["nearest", "nearest-exact", "bilinear", "bicubic", "area"],
         3: ["nearest", "nearest-exact", "trilinear", "area"]}
ATEN = {"nearest": "upsample_nearest{}d", "nearest-exact": "_upsample_nearest_exact{}d", "linear": "upsample_linear1d",
        "bilinear": "upsample_bilinear2d", "trilinear": "upsample_trilinear3d", "bicubic": "upsample_bicubic2d"}
# The first three keep lengths, the next two double some, and the others do neither.
FACTORS = [1.0, 1.0239041660002521, 1.16, 2.0, 2.1, 1.3, 0.6, 3.0]
MIXED = [1.16, 2.1, 1.6]


def has_corners(mode):
    return mode.endswith("linear") or mode == "bicubic"


def factors_of(axes):
    """One factor for all axes, and all ways to give the axes those of MIXED."""
    several = [list(order) for order in itertools.permutations(MIXED, axes)] if axes > 1 else []
    return FACTORS + several


def sizes_of(axes):
    """As the lengths, some of them doubled, and others."""
    lengths = LENGTHS[axes]
    return [lengths, [2 * n for n in lengths], [n if i == 0 else 2 * n for i, n in enumerate(lengths)], [n + 3 for n in lengths]]


def of_axes(root, axes, rng):
    category = Category(root / f"axes_{axes}")
    for mode in MODES[axes]:
        corners = [None, True] if has_corners(mode) else [None]
        for channels, align in itertools.product([2, 1] if mode == "nearest" else [2], corners):
            x = numbers([1, channels, *LENGTHS[axes]], "plain", torch.float32, rng)
            fixed = {"mode": mode, **({"align_corners": align} if align else {})}
            for factor in factors_of(axes):
                for recompute in [None] if align or channels == 1 else [None, True]:
                    category.add("Functional.interpolate", [x], {"scale_factor": factor, "recompute_scale_factor": recompute, **fixed})
            for size in sizes_of(axes):
                category.add("Functional.interpolate", [x], {"size": size, **fixed})
        if mode not in ATEN:
            continue
        x = numbers([1, 2, *LENGTHS[axes]], "plain", torch.float32, rng)
        # A size that is not that of the factors. Torch reads beyond the input where the factor leads there.
        for size, factor in itertools.product(sizes_of(axes), [1.16, 2.1]):
            align = [False] if has_corners(mode) else []
            if align and any(wanted > factor * length for wanted, length in zip(size, LENGTHS[axes])):
                continue
            category.add("Aten." + ATEN[mode].format(axes), [x, size, *align, *[factor] * axes])
    if axes == 2:
        for mode, factor in itertools.product(["bilinear", "bicubic"], FACTORS):
            x = numbers([1, 2, *LENGTHS[axes]], "plain", torch.float32, rng)
            category.add("Functional.interpolate", [x], {"scale_factor": factor, "mode": mode, "antialias": True})
    category.write()


def main(folder):
    Category.keeps_exact = False
    torch.set_num_threads(1)
    rng = Lcg(1)
    for axes in LENGTHS:
        of_axes(pathlib.Path(folder), axes, rng)


if __name__ == "__main__":
    main(*sys.argv[1:])
