# SPDX-License-Identifier: Apache-2.0
"""Families that bring forms together: operands that lie on each other, kept tensors of every layout, groups, depth and broadcasts at once."""
from . import execute as ex
from .build import Place, half_bits
from .families import convolution, dims, family, scalars, some

BROADCASTS = [0, 1, 2, 4, 8, 5, 12, 14, 15]


def shrunk(shape, bits):
    """The shape without the axes that `bits` (W, H, D, C) broadcast."""
    g, c, d, h, w = shape
    return (g, 1 if bits & 8 else c, 1 if bits & 4 else d, 1 if bits & 2 else h, 1 if bits & 1 else w)


def moved(place, by):
    return Place(place.where, place.dims, place.base + by, place.strides, place.transposed, place.interleave, place.element)


@family()
def broadcast_depth(bench, rng):
    shape = dims(rng, depth=4, channels=5, width=20)
    b1, b2 = (int(x) for x in rng.choice(BROADCASTS, 2))
    bench.planar(ex.TWO_SOURCES, bench.input(shrunk(shape, b1)), bench.output(shape, transposed=bool(some(rng))), bench.input(shrunk(shape, b2)),
                 Operation=int(rng.integers(0, 4)), Broadcast1=b1, Broadcast2=b2, InputReLU1=some(rng), InputReLU2=some(rng))


@family()
def broadcast_reduced(bench, rng):
    """Both sources broadcast or turned, then reduced over what the result's index has not."""
    shape = dims(rng, depth=3, channels=6, width=40)
    b1, b2 = (int(x) for x in rng.choice(BROADCASTS, 2))
    bench.planar(ex.REDUCE_TWO, bench.input(shrunk(shape, b1), transposed=bool(some(rng))), bench.output((shape[0], shape[1], 1, 1, 1)),
                 bench.input(shrunk(shape, b2), transposed=bool(some(rng))), dims=shape, Broadcast1=b1, Broadcast2=b2, InputReLU1=some(rng),
                 Operation=int(rng.choice([0, 1, 4])))


@family()
def relu_first(bench, rng):
    shape = dims(rng)
    if some(rng):
        bench.planar(ex.ONE_SOURCE, bench.input(shape), bench.output(shape), InputReLU1=1, **scalars(rng))
    else:
        bench.neural(bench.input(shape), bench.output(shape), InputReLU1=1, PostScale=half_bits(rng.normal()))


@family()
def relu_convolution(bench, rng):
    convolution(bench, rng, InputReLU1=1)


@family()
def kept_forms(bench, rng):
    """A source of any layout is kept, and read again from L2 as it would be from memory."""
    shape = dims(rng, depth=2)
    bits, interleave = int(rng.choice(BROADCASTS)), int(rng.choice([1, 1, 2, 4]))
    small = shrunk(shape, bits)
    kept, other = bench.l2(small), bench.l2(shape)
    bench.planar(ex.ONE_SOURCE, bench.input(small, interleave=interleave), other, kept=kept, Operation=4, Broadcast1=bits)
    bench.planar(ex.TWO_SOURCES, kept, bench.output(shape), other, Second=3, Broadcast1=bits)


@family()
def result_kept_forms(bench, rng):
    shape = dims(rng)
    kept = bench.l2(shape)
    bench.neural(bench.input(shape), bench.output(shape, interleave=int(rng.choice([1, 3, 4]))), kept_result=kept, PostScale=half_bits(rng.normal()))
    bench.planar(ex.ONE_SOURCE, kept, bench.output(shape), Abs=1)


@family()
def kept_over_second(bench, rng):
    """Source 1 is kept on, or partly on, source 2."""
    shape = dims(rng)
    second = bench.l2(shape)
    bench.neural(bench.input(shape), second)
    kept = moved(second, 16 * int(rng.integers(0, 4)))
    bench.planar(ex.TWO_SOURCES, bench.input(shape), bench.output(shape), second, kept=kept, Operation=int(rng.integers(0, 4)))
    bench.neural(kept, bench.output(shape))


@family()
def on_itself(bench, rng):
    """The result goes to L2 or to memory, on one of its sources or a little beside it; turned, and with sources that are broadcast."""
    shape = dims(rng, channels=9, width=12)
    bits = int(rng.choice([0, 0, 1, 2, 8]))
    if some(rng):
        second = bench.l2(shrunk(shape, bits))
        bench.neural(bench.input(second.dims), second)
        first = bench.l2(shape, transposed=bool(some(rng)))
        bench.neural(bench.input(shape), first)
    else:
        second, first = bench.scratch(shrunk(shape, bits)), bench.scratch(shape)
        bench.neural(bench.input(second.dims), second)
        bench.neural(bench.input(shape), first)
    unit = 64 if first.dma else 16
    result = moved(first, unit * int(rng.integers(0, 3)))
    if some(rng):
        result.base = second.base
    if first.dma:
        bench.ends[3] += 0x4000
    if some(rng, 0.7):
        bench.planar(ex.TWO_SOURCES, first, result, second, Operation=int(rng.integers(0, 4)), Broadcast2=bits)
    else:
        bench.neural(first, result, NonlinearMode=1)
    bench.planar(ex.ONE_SOURCE, result, bench.output(shape))


@family()
def affine_groups(bench, rng):
    """Two rows for each channel and group, from memory or L2, under the result or not."""
    shape = dims(rng, groups=4, depth=2, channels=12, width=9)
    if some(rng, 0.3):
        shape = shape[:2] + (1, 2, 1)
    rows = (shape[0], shape[1], 1, 2, 1)
    source = bench.input(rows, transposed=bool(some(rng)))
    second = source
    if some(rng, 0.7):
        second = bench.l2(rows, transposed=bool(some(rng)))
        bench.planar(ex.ONE_SOURCE, source, second)
    result = bench.l2(shape)
    if not second.dma and shape[2:] == (1, 2, 1):
        result = second
    bench.planar(ex.TWO_ROWS, bench.input(shape), result, second, Second=int(rng.integers(2, 4)), InputReLU1=some(rng, 0.3),
                 Broadcast2=int(rng.choice([0, 0, 1, 2, 3, 8, 11])))
    bench.planar(ex.ONE_SOURCE, result, bench.output(shape))


@family()
def unicast_groups(bench, rng):
    convolution(bench, rng, unicast=int(rng.integers(1, 3)), groups=int(rng.integers(2, 4)), form=str(rng.choice(["half", "sparse"])))


@family()
def two_columns_groups(bench, rng):
    convolution(bench, rng, unicast=1, groups=2, outputs=2, kernels=((1, 9), (3, 3)), strides=((1, 2),), form=str(rng.choice(["half", "sparse"])),
                bias=1, AccBias=half_bits(rng.normal()), PostScale=half_bits(rng.normal()))


@family()
def ones_groups(bench, rng):
    """A kernel of ones is that of every group."""
    shape = dims(rng, groups=4, channels=7)
    cout = int(rng.integers(1, 5))
    bench.neural(bench.input(shape), bench.output((shape[0], cout) + shape[2:]), OpMode=0, UnicastEn=0, PostScale=half_bits(rng.normal()))


@family()
def interleaved_forms(bench, rng):
    """Channels side by side on the way in, on the way out, in convolutions, reductions and copies."""
    shape = dims(rng, channels=11)
    ways = [int(x) for x in rng.choice([1, 2, 3, 4, 8], 2)]
    form = int(rng.integers(0, 3))
    if form == 0:
        bench.planar(ex.TWO_SOURCES, bench.input(shape, interleave=ways[0]), bench.output(shape, interleave=ways[1]), bench.input(shape))
    elif form == 1:
        bench.neural(bench.input(shape, interleave=ways[0]), bench.output(shape, interleave=ways[1]), NonlinearMode=1)
    else:
        bench.planar(ex.REDUCE, bench.input(shape, interleave=ways[0]), bench.output((shape[0], shape[1], 1, 1, 1), interleave=ways[1]), dims=shape)


