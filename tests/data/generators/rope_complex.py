#!/usr/bin/env python3
"""Makes the dump rope_complex: a rotary embedding in complex numbers as the original Llama code has it, forward and
backward.

    tests/data/generators/rope_complex.py FOLDER      which must not exist yet

The archive in dumps/ was made with torch.manual_seed(3); what this script makes has the same calls, shapes and layout and
differs from it in the last bits of the values."""

import cmath
import math
import sys

from torch_dump import Dump, Tensor, TorchRandom

POSITIONS, HEADS, PAIRS = 5, 2, 4


def complex_of(tensor):
    reals = tensor.values
    return Tensor(tensor.shape[:-1], [complex(*reals[i:i + 2]) for i in range(0, len(reals), 2)])


def real_of(tensor):
    return Tensor([*tensor.shape, 2], tensor.reals())


def product(queries, rotations, conjugate=False):
    """Of [1, positions, heads, pairs] and [1, positions, 1, pairs]."""
    values = []
    for i, query in enumerate(queries.values):
        rotation = rotations.values[i // (HEADS * PAIRS) * PAIRS + i % PAIRS]
        values.append(query * (rotation.conjugate() if conjugate else rotation))
    return Tensor(queries.shape, values)


def rotation_gradient(gradient, queries):
    """Summed over the heads, along which the rotations were broadcast."""
    sums = [0j] * (POSITIONS * PAIRS)
    for i, (g, query) in enumerate(zip(gradient.values, queries.values)):
        sums[i // (HEADS * PAIRS) * PAIRS + i % PAIRS] += g * query.conjugate()
    return Tensor([1, POSITIONS, 1, PAIRS], sums)


def complex_gradient(random):
    """torch.randn of complex elements: both parts have half the variance."""
    parts = random.randn(1, POSITIONS, HEADS, PAIRS, 2)
    return complex_of(Tensor(parts.shape, [value * math.sqrt(0.5) for value in parts.values]))


def rope_complex():
    random = TorchRandom(3)
    queries = random.randn(1, POSITIONS, HEADS, PAIRS, 2)
    positions = Tensor([POSITIONS], range(POSITIONS))
    frequencies = Tensor([PAIRS], [10.0 ** (-i / 2) for i in range(PAIRS)])
    angles = Tensor([POSITIONS, PAIRS], [p * f for p in positions.values for f in frequencies.values])
    ones = Tensor(angles.shape, [1.0] * len(angles.values))
    rotations = Tensor(angles.shape, [cmath.rect(1, angle) for angle in angles.values])
    spread = rotations.reshaped(1, POSITIONS, 1, PAIRS)
    as_complex = complex_of(queries)
    rotated = product(as_complex, spread)
    as_real = real_of(rotated)
    flat = as_real.reshaped(1, POSITIONS, HEADS, 2 * PAIRS)

    dump = Dump()
    dump.forward("Torch.outer.0", [positions, frequencies], angles, requires_grad=False)
    dump.forward("Torch.polar.0", [ones, angles], rotations, requires_grad=False)
    dump.forward("Torch.view_as_complex.0", [queries], as_complex)
    dump.forward("Tensor.__mul__.0", [as_complex, spread], rotated)
    dump.forward("Torch.view_as_real.0", [rotated], as_real)
    dump.forward("Tensor.flatten.0", [as_real, 3], flat)
    dump.forward("Tensor.abs.0", [rotated], Tensor(rotated.shape, [abs(v) for v in rotated.values]))

    # Every call has a gradient of its own, drawn in the order of the calls.
    of_complex, of_product = complex_gradient(random), complex_gradient(random)
    of_real = random.randn(*as_real.shape)
    of_flat = random.randn(*flat.shape)
    of_abs = random.randn(*rotated.shape)
    dump.backward("Tensor.abs.0", of_abs,
                  [Tensor(rotated.shape, [g * v / abs(v) for g, v in zip(of_abs.values, rotated.values)])])
    dump.backward("Tensor.flatten.0", of_flat, [of_flat.reshaped(*as_real.shape)])
    dump.backward("Torch.view_as_real.0", of_real, [complex_of(of_real)])
    dump.backward("Tensor.__mul__.0", of_product,
                  [product(of_product, spread, conjugate=True), rotation_gradient(of_product, as_complex)])
    dump.backward("Torch.view_as_complex.0", of_complex, [real_of(of_complex)])
    return dump


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rope_complex().write(sys.argv[1])
