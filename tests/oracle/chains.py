# SPDX-License-Identifier: Apache-2.0
"""Families of more than one descriptor: hand-over through L2, the intermediate buffer and directly; whole operations as public programs have them."""
from . import execute as ex
from . import tables
from .build import Place, half_bits, single_bits
from .families import dims, family, some, with_table

LOG2_E = 1.4426950408889634


@family()
def chain_l2(bench, rng):
    """DRAM to L2, L2 to L2 with a second operand, L2 to DRAM."""
    shape = dims(rng)
    first, second = bench.l2(shape, transposed=bool(some(rng))), bench.l2(shape)
    bench.planar(ex.ONE_SOURCE, bench.input(shape), first, Scale=half_bits(rng.normal()))
    if some(rng):
        bench.planar(ex.TWO_SOURCES, bench.input(shape), second, first, Operation=int(rng.integers(0, 4)))
    else:
        bench.planar(ex.TWO_SOURCES, first, second, bench.input(shape), Operation=int(rng.integers(0, 4)))
    bench.neural(second, bench.output(shape, transposed=bool(some(rng))), NonlinearMode=1)


@family()
def chain_scratch(bench, rng):
    shape = dims(rng)
    places = [bench.scratch(shape), bench.scratch(shape)]
    bench.planar(ex.ONE_SOURCE, bench.input(shape), places[0], Abs=1)
    bench.neural(bench.input(shape), places[1], NonlinearMode=1)
    bench.planar(ex.TWO_SOURCES, places[0], bench.output(shape), places[1], Operation=int(rng.integers(0, 4)))


@family()
def chain_handed(bench, rng):
    """The whole result goes straight to the next descriptor."""
    shape = dims(rng)
    handed = Place("handed", shape)
    if some(rng):
        bench.neural(bench.input(shape), handed, NonlinearMode=1)
        bench.planar(ex.ONE_SOURCE, handed, bench.output(shape), Bias=half_bits(0.5))
    else:
        bench.planar(ex.ONE_SOURCE, bench.input(shape), handed, Scale=half_bits(rng.normal()))
        bench.neural(handed, bench.output(shape), PostScale=half_bits(0.5))


@family()
def source_kept(bench, rng):
    """A source loaded whole and left in L2 is read again from there."""
    shape = dims(rng)
    kept, other = bench.l2(shape), bench.l2(shape)
    source = bench.input(shape)
    bench.planar(ex.ONE_SOURCE, source, other, kept=kept, Operation=4)
    bench.planar(ex.TWO_SOURCES, kept, bench.output(shape), other, Second=3)


@family()
def result_kept(bench, rng):
    """A result that goes out and also stays."""
    shape = dims(rng)
    kept = bench.l2(shape)
    bench.planar(ex.ONE_SOURCE, bench.input(shape), bench.output(shape), kept_result=kept, Scale=half_bits(rng.normal()))
    bench.neural(kept, bench.output(shape), NonlinearMode=1)


@family()
def carried(bench, rng):
    """The second descriptor writes its result's place and the operation alone; everything else is as the first left it."""
    shape = dims(rng)
    a, b = bench.input(shape), bench.input(shape)
    outputs = [bench.output(shape), bench.output(shape)]
    bench.planar(ex.TWO_SOURCES, a, outputs[0], b, Scale=half_bits(rng.normal()))
    blocks = ["PE", "TileDMADst"] if some(rng) else ["TileDMADst"]
    bench.planar(ex.TWO_SOURCES, a, outputs[1], b, blocks=blocks, Operation=1, Scale=half_bits(rng.normal()))


def rows_as_groups(place, shape):
    """Rows of a [1, 1, 1, h, w] tensor as groups of one row."""
    _, _, _, h, w = shape
    return Place(place.where, (h, 1, 1, 1, w), place.base, (place.strides[3],) * 4)


def softmax_of(bench, source, result, shape, handed):
    """Over W: maximum, (x - max) * log2 e, exp2, sum with reciprocal, product."""
    _, _, _, h, w = shape
    maximum, total = bench.l2((h, 1, 1, 1, 1)), bench.l2((h, 1, 1, 1, 1))
    rows = lambda stat: Place("l2", (1, 1, 1, h, 1), stat.base, (stat.strides[0],) * 4)
    between = Place("handed", shape) if handed else bench.l2(shape)
    powers = bench.scratch(shape)
    bench.planar(ex.REDUCE, rows_as_groups(source, shape), maximum, dims=(h, 1, 1, 1, w), Reduce=2, PaddingMode=1)
    bench.planar(ex.TWO_SOURCES, source, between, rows(maximum), Second=3, Scale=half_bits(LOG2_E), Broadcast2=1)
    bench.neural(between, powers, kernel=with_table(bench, "exp2"), NonlinearMode=2)
    bench.planar(ex.REDUCE, rows_as_groups(powers, shape), total, dims=(h, 1, 1, 1, w), Function=1)
    bench.planar(ex.TWO_SOURCES, rows(total), result, powers, Operation=ex.MUL, Broadcast1=1)


@family()
def softmax(bench, rng):
    shape = (1, 1, 1, int(rng.integers(1, 20)), int(rng.integers(1, 70)))
    softmax_of(bench, bench.input(shape), bench.output(shape), shape, bool(some(rng)))


@family()
def softmax_channels(bench, rng):
    """Over C: maximum and sum on the neural engine, with a reciprocal table behind the sum."""
    shape = dims(rng, groups=1, channels=30)
    one = (1, 1) + shape[2:]
    source = bench.input(shape)
    kept, top, scaled, powers, inverse = bench.l2(shape), bench.l2(one), bench.l2(shape), bench.l2(shape), bench.l2(one)
    bench.neural(source, top, kept=kept, OpMode=3, UnicastCin=shape[1], PaddingMode=1)
    bench.planar(ex.TWO_SOURCES, kept, scaled, top, Second=3, Scale=half_bits(LOG2_E), Broadcast2=8)
    bench.neural(scaled, powers, kernel=with_table(bench, "exp2"), NonlinearMode=2)
    bench.neural(powers, inverse, kernel=with_table(bench, "recip"), NonlinearMode=2, OpMode=0, UnicastEn=0)
    bench.planar(ex.TWO_SOURCES, inverse, bench.output(shape), powers, Operation=ex.MUL, Broadcast1=8)


@family()
def layer_norm(bench, rng):
    """Per channel: mean and 1 / sqrt(variance + eps) into two rows of L2, then (x - mean) * rstd."""
    shape = dims(rng, groups=1, channels=20)
    channels, extent = shape[1], shape[2] * shape[3] * shape[4]
    row = -(-channels * 2 // 16) * 16
    base = bench.l2((1, 1, 1, 2, row // 2)).base
    stats = [Place("l2", (1, channels, 1, 1, 1), base + i * row, (row, row, row, row), transposed=True) for i in range(2)]
    both = Place("l2", (1, channels, 1, 2, 1), base, (row, row, row, row), transposed=True)
    kept = bench.l2(shape)
    mean = dict(FinalScale=single_bits(1.0 / extent))
    bench.planar(ex.REDUCE, bench.input(shape), stats[0], dims=shape, kept=kept, **mean)
    bench.planar(ex.REDUCE_TWO, kept, stats[1], stats[0], dims=shape, Negate1=1, Operation=4, Function=2, Epsilon=half_bits(1e-5), Broadcast2=3, **mean)
    bench.planar(ex.TWO_ROWS, kept, bench.output(shape), both, Second=3)


@family()
def division(bench, rng):
    shape = dims(rng)
    inverse = bench.scratch(shape) if some(rng) else bench.l2(shape)
    bench.neural(bench.input(shape), inverse, kernel=with_table(bench, "recip"), NonlinearMode=2)
    bench.planar(ex.TWO_SOURCES, bench.input(shape), bench.output(shape), inverse, Operation=ex.MUL)


@family()
def silu(bench, rng):
    """x * (half of tanh + 1/2) in three steps: table, handed on, bias, product."""
    shape = dims(rng)
    x, gate = bench.input(shape), bench.scratch(shape)
    handed = Place("handed", shape)
    bench.neural(x, handed, kernel=with_table(bench, "tanh"), NonlinearMode=2, PostScale=half_bits(0.5))
    bench.planar(ex.ONE_SOURCE, handed, gate, Scale=half_bits(0.5), Bias=half_bits(0.5))
    bench.planar(ex.TWO_SOURCES, gate, bench.output(shape), x, Operation=ex.MUL)


@family(spread="bytes")
def edges(bench, rng):
    """Any bits at all on the planar engine, the bypass and a table: NaN, infinities, denormals, both zeros."""
    shape = dims(rng)
    which = int(rng.integers(0, 4))
    if which == 0:
        bench.planar(ex.TWO_SOURCES, bench.input(shape), bench.output(shape), bench.input(shape), Operation=int(rng.integers(0, 5)))
    elif which == 1:
        bench.planar(ex.ONE_SOURCE, bench.input(shape), bench.output(shape), Scale=half_bits(rng.normal()), Bias=half_bits(rng.normal()))
    elif which == 2:
        bench.neural(bench.input(shape), bench.output(shape), NonlinearMode=some(rng))
    else:
        bench.neural(bench.input(shape), bench.output(shape), kernel=with_table(bench, str(rng.choice(list(tables.TABLES)))), NonlinearMode=2)
