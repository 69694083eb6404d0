# SPDX-License-Identifier: Apache-2.0
"""Random programs by family. A family is a function of a Bench and a random generator that writes descriptors into the bench.

Values of inputs are drawn from a family's `spread`; NaN, infinities and what nobody has separated on hardware stay out of all families but `edges`.
"""
import numpy as np

from . import execute as ex
from . import tables
from .build import Place, deal, half_bits, pack_kernel, single_bits

FAMILIES = {}


def family(spread=2.0):
    def register(function):
        FAMILIES[function.__name__] = (function, spread)
        return function
    return register


def dims(rng, groups=2, channels=9, depth=1, height=7, width=40):
    return tuple(int(rng.integers(1, limit + 1)) for limit in (groups, channels, depth, height, width))


def scalars(rng):
    """Scale, bias, pre- and final scale, each of them ordinary half of the time."""
    pick = lambda ordinary: ordinary if rng.random() < 0.5 else float(rng.normal())
    return {"Scale": half_bits(pick(1.0)), "Bias": half_bits(pick(0.0)), "PreScale": half_bits(pick(1.0)), "FinalScale": single_bits(pick(1.0))}


def some(rng, probability=0.5):
    return int(rng.random() < probability)


# The planar engine

@family()
def elementwise_two(bench, rng):
    shape = dims(rng)
    operation = int(rng.integers(0, 5))
    second = int(rng.integers(2, 4)) if operation in (ex.ADD, ex.SQUARE) else 2
    bench.planar(ex.TWO_SOURCES, bench.input(shape), bench.output(shape), bench.input(shape), Operation=operation, Second=second,
                 PEReLU=some(rng, 0.3), Abs=some(rng, 0.3), **scalars(rng))


@family()
def elementwise_one(bench, rng):
    shape = dims(rng)
    bench.planar(ex.ONE_SOURCE, bench.input(shape), bench.output(shape), Operation=4 * some(rng, 0.3), PEReLU=some(rng, 0.3), Abs=some(rng, 0.3),
                 **scalars(rng))


@family()
def first_subtracted(bench, rng):
    shape = dims(rng)
    bench.planar(ex.TWO_SOURCES, bench.input(shape), bench.output(shape), bench.input(shape), Operation=int(rng.choice([0, 4])), Negate1=1)


@family()
def broadcast(bench, rng):
    """Operands that are one wide, high, or have one channel, in DRAM or L2."""
    shape = dims(rng, groups=2)
    b1, b2 = (int(x) for x in rng.choice([0, 1, 2, 8, 3, 9, 10, 11], 2))
    small = lambda bits: (shape[0], 1 if bits & 8 else shape[1], 1, 1 if bits & 2 else shape[3], 1 if bits & 1 else shape[4])
    a, b = bench.input(small(b1)), bench.input(small(b2))
    if some(rng):
        resident = bench.l2(b.dims)
        bench.neural(b, resident)
        b = resident
    bench.planar(ex.TWO_SOURCES, a, bench.output(shape), b, Operation=int(rng.integers(0, 4)), Broadcast1=b1, Broadcast2=b2)


@family()
def planar_interleave(bench, rng):
    """Channels stand together: of both sources, or of the second one when the first is in L2; and of the result."""
    shape, k = dims(rng, groups=2), int(rng.choice([2, 4, 8]))
    a, b = bench.input(shape, interleave=k), bench.input(shape, interleave=k)
    if some(rng):
        resident = bench.l2(shape)
        bench.neural(bench.input(shape), resident)
        a = resident
    bench.planar(ex.TWO_SOURCES, a, bench.output(shape, interleave=int(rng.choice([1, k]))), b, Operation=int(rng.integers(0, 4)))


@family()
def turned_interleave(bench, rng):
    """Columns stand together in a result whose channels and columns have changed places."""
    shape, k = dims(rng, groups=2), int(rng.choice([2, 4, 8]))
    bench.neural(bench.input(shape), bench.output(shape, transposed=True, interleave=k))


@family()
def planar_transpose(bench, rng):
    shape = dims(rng, channels=40, width=20)
    flags = [bool(some(rng)) for _ in range(3)]
    bench.planar(ex.TWO_SOURCES, bench.input(shape, transposed=flags[0]), bench.output(shape, transposed=flags[2]),
                 bench.input(shape, transposed=flags[1]), Operation=int(rng.integers(0, 4)))


@family()
def planar_depth(bench, rng):
    shape = dims(rng, depth=4, channels=4)
    bench.planar(ex.TWO_SOURCES, bench.input(shape), bench.output(shape), bench.input(shape), Operation=int(rng.integers(0, 4)))


@family()
def input_relu(bench, rng):
    """x + relu(x): the second source's own ReLU."""
    shape = dims(rng)
    bench.planar(ex.TWO_SOURCES, bench.input(shape), bench.output(shape), bench.input(shape), InputReLU2=1, Operation=int(rng.integers(0, 4)))


def reduced(bench, rng, two, depth=1, function=0):
    shape = dims(rng, groups=5, depth=depth, width=70)
    largest = some(rng, 0.4) if not function else 0
    extent = shape[2] * shape[3] * shape[4]
    result = bench.output((shape[0], shape[1], 1, 1, 1), transposed=bool(some(rng, 0.3)))
    # with a function after it the reduced value is kept positive: squares or magnitudes
    operation = ex.SQUARE if function else int(rng.choice([0, 4] if not two else [0, 1, 4]))
    bench.planar(ex.REDUCE_TWO if two else ex.REDUCE, bench.input(shape), result, bench.input(shape) if two else None, dims=shape,
                 Reduce=2 * largest, PaddingMode=largest, Operation=operation, Abs=some(rng, 0.3) if not function else 0, Function=function,
                 FinalScale=single_bits(1.0 if largest else rng.choice([1.0, 1.0 / extent])),
                 Epsilon=half_bits(rng.choice([1e-5, 0.5])) if function else 0)


@family()
def reduce_one(bench, rng):
    reduced(bench, rng, False)


@family()
def reduce_depth(bench, rng):
    reduced(bench, rng, False, depth=3)


@family()
def reduce_two(bench, rng):
    reduced(bench, rng, True)


@family()
def reduce_function(bench, rng):
    reduced(bench, rng, bool(some(rng)), function=int(rng.integers(1, 3)))


@family()
def affine(bench, rng):
    """Per-channel addends and factors, copied from the constants to L2, then one two-row task."""
    shape = dims(rng, groups=1, channels=20)
    channels = shape[1]
    rows = rng.normal(size=(2, -(-channels // 32) * 32)).astype("<f2")
    at = bench.constant(rows.tobytes())
    row = rows.shape[1] * 2
    source = Place(1, (1, 1, 1, 2, channels), at, (2 * row, 2 * row, 2 * row, row))
    resident = bench.l2(source.dims)
    bench.neural(source, resident)
    g, c, d, r = resident.strides
    turned = Place("l2", (1, channels, 1, 2, 1), resident.base, (g, c, d, r), transposed=True)
    bench.planar(ex.TWO_ROWS, bench.input(shape), bench.output(shape), turned, Second=int(rng.integers(2, 4)), PEReLU=some(rng, 0.3))


@family()
def source_bytes(bench, rng):
    """8-bit data becomes numbers: 0 to 255."""
    shape = dims(rng)
    bench.planar(ex.ONE_SOURCE, bench.input(shape, element=1), bench.output(shape))


# The neural engine

@family()
def bypass(bench, rng):
    shape = dims(rng, groups=3)
    bench.neural(bench.input(shape), bench.output(shape), NonlinearMode=some(rng), active=int(rng.choice([0, 2, 4])))


@family()
def bypass_scaled(bench, rng):
    shape = dims(rng)
    bench.neural(bench.input(shape), bench.output(shape), NonlinearMode=some(rng), AccBias=half_bits(rng.normal()), PostScale=half_bits(rng.normal()))


@family()
def neural_transpose(bench, rng):
    shape = dims(rng, channels=40, width=20)
    bench.neural(bench.input(shape), bench.output(shape, transposed=True))


class Size:
    """The shape of a random convolution."""

    def __init__(self, rng, unicast, kernels, strides, lanes, form, bias):
        self.active = int(rng.choice([0, 1, 2, 4]))
        self.kh, self.kw = kernels[int(rng.integers(len(kernels)))]
        self.sy, self.sx = strides[int(rng.integers(len(strides)))]
        self.ocg = 0 if unicast else int(rng.choice(lanes))
        self.bias = some(rng) if bias is None else bias
        self.cout = int(rng.integers(1, 20 if unicast else 41))
        if form == "sparse" and not unicast:
            # one plane an engine: whether several are padded one by one is not known
            self.active = min(self.active, 2)
            self.cout = 1 << self.ocg + self.active
        self.inputs = unicast or int(rng.integers(1, 10))
        self.py, self.px = int(rng.integers(0, self.kh // 2 + 1)), int(rng.integers(0, self.kw // 2 + 1))
        self.h, self.w = int(rng.integers(self.kh, self.kh + 8)), int(rng.integers(self.kw, self.kw + 20))

    def seamless(self):
        """No plane that another follows ends inside 64 bytes."""
        step = 2 * (self.inputs * self.kh * self.kw + self.bias)
        engines = deal(self.cout, 1 << self.ocg, 1 << self.active).values()
        return all(len(channels) * step % 64 == 0 for engine_planes in engines for channels in engine_planes[:-1])


def drawn_weights(rng, shape, form):
    if form == "int8":
        return rng.integers(-128, 128, shape)
    weights = rng.normal(size=shape).astype(np.float16)
    weights[rng.random(shape) < 0.3] = 0
    return weights


def convolution(bench, rng, unicast=0, groups=1, kernels=((1, 1), (3, 3), (1, 5), (2, 3)), strides=((1, 1),), form="half", lanes=(0, 1, 2, 3, 4),
                table=None, bias=None, outputs=1, seamless=True, **fields):
    """A MAC task of any packing. `unicast` inputs belong to each output when it is not 0; `outputs` columns are made a step."""
    size = None
    while size is None or (not unicast and form == "half" and size.seamless() != seamless):
        size = Size(rng, unicast, kernels, strides, lanes, form, bias)
    ho = (size.h + 2 * size.py - size.kh) // size.sy + 1
    wo = (size.w + 2 * size.px - size.kw) // size.sx + 1 if outputs == 1 else (size.w + 2 * size.px - size.kw + outputs) // outputs
    weights = drawn_weights(rng, (groups, size.cout, size.inputs, size.kh, size.kw), form)
    rows = rng.normal(size=(groups, size.cout)).astype(np.float16) if size.bias else None
    small = some(rng)
    kernel = pack_kernel(bench, weights, size.active, 1 << size.ocg, rows, size.sy, size.sx, outputs, form, bool(unicast), table, small=small)
    settings = dict(OpMode=0, KernelMode=0, UnicastEn=int(unicast > 0), UnicastCin=unicast or 1, NumGroups=groups, BiasMode=size.bias, Kh=size.kh,
                    Kw=size.kw, Sy=size.sy, Sx=size.sx, Py=size.py, Px=size.px, Ox=outputs, OCGSize=size.ocg, SparseFmt=int(form == "sparse"),
                    KernelFmt=1 if form == "int8" else 2, NonlinearMode=2 if table else some(rng, 0.3), SmallSourceMode=small, active=size.active)
    settings.update(fields)
    cin = size.cout * unicast if unicast else size.inputs
    bench.neural(bench.input((groups, cin, 1, size.h, size.w)), bench.output((groups, size.cout, 1, ho, wo * outputs)),
                 out_dims=(groups, size.cout, 1, ho, wo), kernel=kernel, **settings)


@family()
def conv_dense(bench, rng):
    convolution(bench, rng)


@family()
def conv_planes(bench, rng):
    """Several planes an engine, which follow each other without padding: published chunks of three 0x820-byte planes have 0x1880 bytes."""
    convolution(bench, rng, seamless=False)


@family()
def conv_scalars(bench, rng):
    convolution(bench, rng, AccBias=half_bits(rng.normal()), PostScale=half_bits(rng.normal()))


@family(spread=60.0)
def conv_large(bench, rng):
    """Sums that pass 2^15, inside a chain and at its end."""
    convolution(bench, rng, PostScale=half_bits(rng.choice([1.0, 100.0])))


@family(spread=2.0 ** -10)
def conv_tiny(bench, rng):
    """Operands and results among the denormals."""
    convolution(bench, rng, PostScale=half_bits(rng.choice([1.0, 0.01])))


@family()
def conv_groups(bench, rng):
    convolution(bench, rng, groups=int(rng.integers(2, 5)))


@family()
def conv_stride_dense(bench, rng):
    """Kernels of whole strides, so that the enlarged kernel is the kernel."""
    convolution(bench, rng, kernels=((2, 2), (4, 2), (2, 4)), strides=((2, 2), (1, 2), (2, 1)))


@family()
def conv_sparse(bench, rng):
    convolution(bench, rng, form="sparse", lanes=(0, 2, 3, 4), strides=((1, 1),))


@family()
def conv_sparse_stride(bench, rng):
    convolution(bench, rng, form="sparse", lanes=(0, 2, 3, 4), kernels=((1, 1), (3, 3), (2, 3)), strides=((2, 2),))


@family()
def conv_sparse_groups(bench, rng):
    convolution(bench, rng, form="sparse", lanes=(0, 2, 3), kernels=((3, 3), (1, 1)), strides=((1, 1), (2, 2)), groups=3)


@family()
def depthwise(bench, rng):
    convolution(bench, rng, unicast=1)


@family()
def depthwise_sparse(bench, rng):
    convolution(bench, rng, unicast=1, form="sparse", strides=((1, 1), (2, 2)))


@family()
def unicast_several(bench, rng):
    convolution(bench, rng, unicast=int(rng.integers(2, 4)))


@family()
def two_columns(bench, rng):
    """Two output columns a step, as wide depthwise kernels are made."""
    convolution(bench, rng, unicast=1, outputs=2, kernels=((1, 9), (1, 5), (3, 3)), strides=((1, 2),), form=str(rng.choice(["half", "sparse"])))


@family()
def kernel_int8(bench, rng):
    convolution(bench, rng, unicast=2, form="int8", bias=0, kernels=((1, 1),))


@family()
def kernel_palette(bench, rng):
    """A shift: one tap of a 1-bit palette on a sparse stream."""
    value = np.array([rng.normal()], "<f2")
    weights = np.zeros((1, 1, 1, 1, 2))
    weights[..., int(rng.integers(0, 2))] = 1
    h, w = int(rng.integers(1, 8)), int(rng.integers(2, 20))
    kernel = pack_kernel(bench, weights, 0, 1, form="palette", unicast=True, palette=value.tobytes().ljust(64, b"\0"))
    bench.neural(bench.input((1, 1, 1, h, w)), bench.output((1, 1, 1, h, w)), kernel=kernel, OpMode=0, KernelMode=0, KernelCfg=0x8116, Kw=2, Px=1)


def window(bench, rng, unicast, **fields):
    """A task without kernel data over a window and the inputs of each output."""
    kh, kw, sy, sx = (int(x) for x in rng.integers(1, 4, 4))
    sy, sx = min(sy, 2), min(sx, 2)
    py, px = int(rng.integers(0, (kh + 1) // 2)), int(rng.integers(0, (kw + 1) // 2))
    inputs = int(rng.integers(1, 5))
    cout = int(rng.integers(1, 9)) if unicast else 1
    h, w = int(rng.integers(kh, kh + 8)), int(rng.integers(kw, kw + 20))
    ho, wo = (h + 2 * py - kh) // sy + 1, (w + 2 * px - kw) // sx + 1
    bench.neural(bench.input((1, cout * inputs, 1, h, w)), bench.output((1, cout, 1, ho, wo)), KernelMode=1, UnicastEn=int(unicast),
                 UnicastCin=inputs if unicast else 1, Kh=kh, Kw=kw, Sy=sy, Sx=sx, Py=py, Px=px, **fields)


@family()
def ones_sum(bench, rng):
    shape = dims(rng, groups=1, channels=20)
    bench.neural(bench.input(shape), bench.output((1, 1) + shape[2:]), OpMode=0, UnicastEn=0, NonlinearMode=some(rng), PostScale=half_bits(rng.normal()))


@family()
def ones_window(bench, rng):
    window(bench, rng, True, OpMode=0, PostScale=half_bits(rng.choice([1.0, 1 / 9])))


@family()
def largest(bench, rng):
    window(bench, rng, True, OpMode=3, PaddingMode=1)


@family()
def largest_channels(bench, rng):
    """Maximum over channels: the unicast group is all of them."""
    shape = dims(rng, groups=1, channels=20)
    bench.neural(bench.input(shape), bench.output((1, 1) + shape[2:]), OpMode=3, UnicastCin=shape[1], PaddingMode=1)


@family()
def product(bench, rng):
    shape = dims(rng, groups=1, channels=8)
    bench.neural(bench.input((1, 2 * shape[1]) + shape[2:]), bench.output(shape), OpMode=2, UnicastCin=2, ElemMultMode=1)


def with_table(bench, name, active=0):
    at = bench.constant(tables.TABLES[name])
    return {engine: (at, 128) for engine in range(1 << active)}


@family(spread=6.0)
def table_bypass(bench, rng):
    shape = dims(rng)
    name = str(rng.choice(list(tables.TABLES)))
    active = int(rng.choice([0, 2, 4]))
    bench.neural(bench.input(shape), bench.output(shape), kernel=with_table(bench, name, active), NonlinearMode=2, active=active,
                 PostScale=half_bits(rng.choice([1.0, 1.4424, 0.25])))


@family()
def table_epsilon(bench, rng):
    """The form of 1/x and 1/sqrt(x): one tap of ones, an accumulator bias, a table."""
    shape = dims(rng)
    bench.neural(bench.input(shape), bench.output(shape), kernel=with_table(bench, str(rng.choice(["recip", "rsqrt"]))), NonlinearMode=2, OpMode=0,
                 AccBias=half_bits(rng.choice([1e-4, 1e-6])))


@family()
def conv_table(bench, rng):
    """A table in front of every engine's weights."""
    name = str(rng.choice(["sigmoid", "silu", "tanh", "leaky", "clamp", "exp2"]))
    convolution(bench, rng, table=tables.TABLES[name], PostScale=half_bits(rng.choice([1.0, 0.25])))


@family()
def kernel_from_input(bench, rng):
    """One output row an engine, its weights a row of a second input."""
    active = int(rng.choice([0, 2, 4]))
    k, w, m = int(rng.integers(1, 60)), int(rng.integers(1, 40)), 1 << active
    x = bench.input((1, 1, 1, m, k))
    row = x.strides[3]
    kernel = {e: (x.base + e * row, k * 2) for e in range(m)}
    bench.neural(bench.input((1, k, 1, 1, w)), bench.output((1, m, 1, 1, w)), kernel=kernel, KBase0=x.where, OpMode=0, KernelMode=0, UnicastEn=0,
                 KernelCfg=0x10082, active=active)


@family()
def kernel_staged(bench, rng):
    """The kernel operand is written to the intermediate buffer four channels together, then read as four lanes."""
    active = int(rng.choice([0, 1, 2]))
    k, w, m = int(rng.integers(1, 60)), int(rng.integers(1, 40)), 4 << active
    staged = bench.scratch((1, m, 1, 1, k), interleave=4)
    source = bench.input((1, m, 1, 1, k))
    if some(rng):
        bench.planar(ex.ONE_SOURCE, source, staged)
    else:
        bench.neural(source, staged)
    kernel = {e: (staged.base + e * staged.strides[1], 8 * k) for e in range(1 << active)}
    bench.neural(bench.input((1, k, 1, 1, w)), bench.output((1, m, 1, 1, w)), kernel=kernel, KBase0=3, OpMode=0, KernelMode=0, UnicastEn=0,
                 KernelCfg=0x10082, OCGSize=2, TDE=1, active=active)
