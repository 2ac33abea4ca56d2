#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ringcomm.h from Python's ctypes with numpy arrays over windows: ctypes_test.py LIBRARY; 77 without numpy.

Method: N processes; every rank knows all ranks' data by their seeds and computes what it should get in float64."""
import ctypes as c
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

SIZES = (1, 2, 3)
SECONDS = 90
VERSION, MAGIC = 100, 0x72696E67  # of the header that these declarations were written for
DTYPES = {"int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6, "float32": 7, "float64": 8}
SUM, MAX = 0, 2
HEAD = [("size", c.c_size_t), ("magic", c.c_uint), ("version", c.c_uint)]


class Config(c.Structure):
    _fields_ = HEAD + [("timeoutMs", c.c_int), ("blocking", c.c_int), ("waitStyle", c.c_int), ("arenaBytes", c.c_size_t),
                       ("transports", c.c_char_p), ("commName", c.c_char_p)]


class RotateDesc(c.Structure):
    _fields_ = HEAD + [("k", c.c_void_p), ("v", c.c_void_p), ("rows", c.c_int64), ("heads", c.c_int64), ("kDim", c.c_int64),
                       ("vDim", c.c_int64), ("datatype", c.c_int), ("mode", c.c_int), ("direction", c.c_int),
                       ("overlap", c.c_int), ("chunkBytes", c.c_size_t), ("rankRows", c.POINTER(c.c_int64))]


class RotationPart(c.Structure):
    _fields_ = [("k", c.c_void_p), ("v", c.c_void_p), ("rowFirst", c.c_int64), ("rowCount", c.c_int64),
                ("headFirst", c.c_int64), ("headCount", c.c_int64)]


class RotationStep(c.Structure):
    _fields_ = [("index", c.c_int), ("source", c.c_int), ("partCount", c.c_int), ("parts", c.POINTER(RotationPart))]


class SoftmaxDesc(c.Structure):
    _fields_ = HEAD + [("form", c.c_int), ("base", c.c_int), ("order", c.c_int), ("scatter", c.c_int), ("heads", c.c_int64),
                       ("counts", c.POINTER(c.c_int64))]


class DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32),
                ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class DLManagedTensorVersioned(c.Structure):
    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32), ("manager_ctx", c.c_void_p), ("deleter", c.c_void_p),
                ("flags", c.c_uint64), ("tensor", DLTensor)]


def sized(kind, **fields):
    return kind(size=c.sizeof(kind), magic=MAGIC, version=VERSION, **fields)


class Rank:
    """One communicator and its library, whose failures are exceptions."""

    def __init__(self, library):
        self.lib = c.CDLL(library)
        self.lib.ringcommGetLastError.restype = c.c_char_p
        self.comm = c.c_void_p()
        unset = -2**31
        config = sized(Config, timeoutMs=1000 * SECONDS, blocking=unset, waitStyle=unset, commName=b"numpy")
        self.call("CommInitEnv", c.byref(self.comm), c.byref(config))
        rank, size = c.c_int(), c.c_int()
        self.call("CommUserRank", self.comm, c.byref(rank))
        self.call("CommCount", self.comm, c.byref(size))
        self.rank, self.size = rank.value, size.value

    def call(self, name, *arguments):
        result = getattr(self.lib, "ringcomm" + name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name} returned {result}: {self.lib.ringcommGetLastError(None).decode()}")

    def window(self, shape, dtype=np.float32):
        """An array over memory that the other processes read in place."""
        pointer = c.c_void_p()
        count = int(np.prod(shape))
        self.call("MemAlloc", self.comm, c.byref(pointer), c.c_size_t(count * np.dtype(dtype).itemsize))
        return np.ctypeslib.as_array((c.c_char * (count * np.dtype(dtype).itemsize)).from_address(pointer.value)) \
            .view(dtype).reshape(shape)


def at(array):
    return c.c_void_p(array.ctypes.data)


def data_of(rank, shape, what=0):
    return np.random.default_rng([rank, what]).standard_normal(shape)


def reduces(rank):
    count = 1001
    mine, out = rank.window(count), np.empty(count, np.float32)
    mine[:] = data_of(rank.rank, count)
    everybody = np.stack([data_of(r, count) for r in range(rank.size)])
    for operation, expected in ((SUM, everybody.sum(0)), (MAX, everybody.max(0))):
        rank.call("AllReduce", at(mine), at(out), c.c_size_t(count), DTYPES["float32"], operation, rank.comm, None)
        assert np.abs(out - expected).max() < 1e-5
    integers = np.arange(count, dtype=np.int64) * (rank.rank + 1)
    rank.call("AllReduce", at(integers), at(integers), c.c_size_t(count), DTYPES["int64"], SUM, rank.comm, None)
    assert (integers == np.arange(count) * (rank.size * (rank.size + 1) // 2)).all()


def gathers(rank):
    mine = np.full(7, rank.rank, np.uint8)
    out = np.zeros((rank.size, 7), np.uint8)
    rank.call("AllGather", at(mine), at(out), c.c_size_t(7), DTYPES["uint8"], rank.comm, None)
    assert (out == np.arange(rank.size)[:, None]).all()


def softmax_of(rank, rows, dim):
    out, lse = data_of(rank, (rows, dim), 1), 8 * data_of(rank, rows, 2)
    lse[rank % rows] = -np.inf  # a row of which this rank has seen no key
    return out, lse


def merges(rank):
    rows, dim = 33, 16
    out, lse = rank.window((rows, dim)), rank.window(rows)
    out[:], lse[:] = softmax_of(rank.rank, rows, dim)
    outs, lses = map(np.stack, zip(*(softmax_of(r, rows, dim) for r in range(rank.size))))
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.exp(lses)
        expected = np.nan_to_num((weights[..., None] * outs).sum(0) / weights.sum(0)[:, None])
        expected_lse = np.log(weights.sum(0))
    merged, merged_lse = np.empty((rows, dim), np.float32), np.empty(rows, np.float32)
    desc = sized(SoftmaxDesc, form=1, base=1, heads=1)
    rank.call("SoftmaxStatAllReduce", at(out), at(lse), at(merged), at(merged_lse), c.c_int64(rows), c.c_int64(dim),
              DTYPES["float32"], c.byref(desc), rank.comm, None)
    assert np.abs(merged - expected).max() < 1e-5
    np.testing.assert_allclose(merged_lse, expected_lse, rtol=0, atol=1e-5)


def rotates(rank):
    rows, heads, dim = 5, 2, 8
    block = rank.window((2, rows, heads, dim))
    block[:] = data_of(rank.rank, block.shape, 3)
    desc = sized(RotateDesc, k=block[0].ctypes.data, v=block[1].ctypes.data, rows=rows, heads=heads, kDim=dim, vDim=dim,
                 datatype=DTYPES["float32"], direction=1, overlap=1)
    rotation, step, seen = c.c_void_p(), RotationStep(), []
    rank.call("RotateCreate", c.byref(rotation), c.byref(desc), rank.comm)
    rank.call("RotateStart", rotation)
    while rank.call("RotateNext", rotation, c.byref(step)) is None and step.index >= 0:
        seen.append(step.source)
        assert step.source == (rank.rank - step.index) % rank.size
        for part in step.parts[:step.partCount]:
            shape = (part.rowCount, part.headCount, dim)
            k, v = (np.ctypeslib.as_array(c.cast(p, c.POINTER(c.c_float)), shape) for p in (part.k, part.v))
            whole = data_of(step.source, block.shape, 3).astype(np.float32)
            rows_of = slice(part.rowFirst, part.rowFirst + part.rowCount)
            assert (k == whole[0, rows_of]).all() and (v == whole[1, rows_of]).all()
    assert sorted(seen) == list(range(rank.size))
    rank.call("RotateDestroy", rotation)


def dlpack_of(array, keep):
    """What array.__dlpack__(max_version=(1, 0)) holds in newer numpy."""
    shape = (c.c_int64 * array.ndim)(*array.shape)
    strides = (c.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
    keep += [shape, strides]
    tensor = DLTensor(data=array.ctypes.data, device_type=1, ndim=array.ndim, code=2, bits=8 * array.itemsize, lanes=1,
                      shape=shape, strides=strides)
    return DLManagedTensorVersioned(major=1, minor=0, tensor=tensor)


def speaks_dlpack(rank):
    whole = rank.window((6, 8))
    whole[:] = data_of(rank.rank, whole.shape, 4)
    out, gathered, keep = np.zeros((6, 4), np.float32), np.zeros((rank.size, 6, 4), np.float32), []
    every_second, target, all_of_them = (dlpack_of(a, keep) for a in (whole[:, ::2], out, gathered))
    rank.call("AllReduceDLPack", c.byref(every_second), c.byref(target), SUM, rank.comm, None)
    parts = np.stack([data_of(r, whole.shape, 4)[:, ::2] for r in range(rank.size)])
    assert np.abs(out - parts.sum(0)).max() < 1e-5
    rank.call("AllGatherDLPack", c.byref(every_second), c.byref(all_of_them), rank.comm, None)
    assert np.abs(gathered - parts).max() < 1e-6
    given = c.POINTER(DLManagedTensorVersioned)()
    rank.call("WindowToDLPack", at(whole), (c.c_int64 * 2)(6, 8), 2, DTYPES["float32"], 1, c.byref(given))
    tensor = given.contents.tensor
    seen = np.ctypeslib.as_array(c.cast(tensor.data, c.POINTER(c.c_float)), tuple(tensor.shape[:tensor.ndim]))
    assert (seen == whole).all() and given.contents.flags == 1
    c.CFUNCTYPE(None, c.c_void_p)(given.contents.deleter)(c.cast(given, c.c_void_p))


def run_rank(library):
    rank = Rank(library)
    for test in (reduces, gathers, merges, rotates, speaks_dlpack):
        test(rank)
        rank.call("Barrier", rank.comm, None)
    try:
        rank.call("AllGather", None, None, c.c_size_t(1), DTYPES["uint8"], rank.comm, None)
        raise AssertionError("a null pointer was accepted")
    except RuntimeError as error:
        assert f'rank {rank.rank} of {rank.size} of "numpy"' in str(error), error
    rank.call("CommDestroy", rank.comm)


def run_group(library, size, folder):
    store = pathlib.Path(folder) / f"store{size}"
    children = []
    for rank in range(size):
        places = {"RINGCOMM_RANK": str(rank), "RINGCOMM_SIZE": str(size), "RINGCOMM_STORE": f"file://{store}"}
        children.append(subprocess.Popen([sys.executable, __file__, library, "--rank"], env={**os.environ, **places}))
    try:
        return [child.wait(SECONDS) for child in children]
    finally:
        for child in children:
            child.kill()


def main():
    if len(sys.argv) == 3:
        run_rank(sys.argv[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            codes = run_group(sys.argv[1], size, folder)
            assert not any(codes), f"{size} ranks ended with {codes}"
    print(f"groups of {', '.join(map(str, SIZES))} processes: reduce, gather, merge, rotation, DLPack agree with float64")


if __name__ == "__main__":
    main()
