"""Writes tensor dumps as msProbe's dumper does with torch 1.13, without torch: the .pt files have the bytes that torch.save
gives for the same values. Python's standard library only."""

import json
import math
import pathlib
import struct
import zlib

ALIGNMENT = 64  # of a member's data in the archive


def float32(value):
    """The nearest float32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Tensor:
    """A contiguous float32 or complex64 tensor: a shape and its elements in row-major order."""

    def __init__(self, shape, values):
        self.shape = list(shape)
        self.complex = any(isinstance(value, complex) for value in values)
        rounded = (complex(float32(v.real), float32(v.imag)) if self.complex else float32(v) for v in values)
        self.values = list(rounded)

    def reals(self):
        return [part for v in self.values for part in ((v.real, v.imag) if self.complex else (v,))]

    def reshaped(self, *shape):
        return Tensor(shape, self.values)


class TorchRandom:
    """torch.manual_seed and torch.randn on the CPU for at least 16 elements. Elements are within 1e-6 of torch's, which
    computes logarithm, sine and cosine in float32."""

    def __init__(self, seed):
        self.state = [seed & 0xFFFFFFFF]
        for i in range(1, 624):
            previous = self.state[-1]
            self.state.append((1812433253 * (previous ^ (previous >> 30)) + i) & 0xFFFFFFFF)
        self.used = 624

    def word(self):
        """The next 32 bits of MT19937."""
        if self.used == 624:
            s = self.state
            for i in range(624):
                y = (s[i] & 0x80000000) | (s[(i + 1) % 624] & 0x7FFFFFFF)
                s[i] = s[(i + 397) % 624] ^ (y >> 1) ^ (0x9908B0DF if y & 1 else 0)
            self.used = 0
        word = self.state[self.used]
        self.used += 1
        word ^= word >> 11
        word ^= (word << 7) & 0x9D2C5680
        word ^= (word << 15) & 0xEFC60000
        return word ^ (word >> 18)

    def uniform(self):
        return (self.word() & 0xFFFFFF) / 2**24

    def randn(self, *shape):
        count = math.prod(shape)
        assert count >= 16
        numbers = [self.uniform() for _ in range(count)]
        for begin in range(0, count - 15, 16):
            self._normal(numbers, begin)
        if count % 16:
            numbers[count - 16:] = [self.uniform() for _ in range(16)]
            self._normal(numbers, count - 16)
        return Tensor(shape, numbers)

    @staticmethod
    def _normal(numbers, begin):
        for i in range(begin, begin + 8):
            radius = math.sqrt(-2 * math.log(1 - numbers[i]))
            angle = 2 * math.pi * numbers[i + 8]
            numbers[i], numbers[i + 8] = radius * math.cos(angle), radius * math.sin(angle)


def pickled(tensor):
    """data.pkl of a tensor that needs no gradient."""
    memo = iter(range(256))

    def put():
        return b"q" + bytes([next(memo)])

    def integer(value):
        return b"K" + bytes([value]) if value < 256 else b"M" + struct.pack("<H", value)

    def text(value):
        return b"X" + struct.pack("<I", len(value)) + value + put()

    def numbers(values):
        if len(values) > 3:
            return b"(" + b"".join(map(integer, values)) + b"t" + put()
        return b"".join(map(integer, values)) + {0: b")", 1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(values)] + (put() if values else b"")

    strides = [math.prod(tensor.shape[axis + 1:]) for axis in range(len(tensor.shape))]
    storage = b"ctorch\n" + (b"ComplexFloatStorage" if tensor.complex else b"FloatStorage") + b"\n"
    return b"".join([
        b"\x80\x02", b"ctorch._utils\n_rebuild_tensor_v2\n", put(), b"((", text(b"storage"), storage, put(), text(b"0"),
        text(b"cpu"), integer(len(tensor.values)), b"t", put(), b"Q", integer(0), numbers(tensor.shape), numbers(strides),
        b"\x89ccollections\nOrderedDict\n", put(), b")R", put(), b"t", put(), b"R", put(), b"."])


def archive(members):
    """A zip archive of stored members as torch writes it: data aligned by an extra field, sizes behind the data."""
    body, directory = b"", b""
    for name, data in members:
        offset = len(body)
        padding = -(offset + 30 + len(name) + 4) % ALIGNMENT
        extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
        sums = struct.pack("<III", zlib.crc32(data), len(data), len(data))
        body += struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 0, 0x0808, 0, 0, 0, 0, 0, 0, len(name), len(extra)) + name + extra
        body += data + b"PK\7\b" + sums
        directory += b"PK\1\2" + struct.pack("<HHHHHH", 0, 0, 0x0808, 0, 0, 0) + sums
        directory += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, offset) + name
    count, begin = len(members), len(body)
    end = begin + len(directory)
    wide = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 0x031E, 45, 0, 0, count, count, len(directory), begin)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, end, 1)
    last = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(directory), begin, 0)
    return body + directory + wide + locator + last


def torch_file(stem, tensor):
    """The bytes that torch.save writes to the file <stem>.pt."""
    data = struct.pack(f"<{len(tensor.reals())}f", *tensor.reals())
    stem = stem.encode()
    return archive([(stem + b"/data.pkl", pickled(tensor)), (stem + b"/data/0", data), (stem + b"/version", b"3\n")])


class Dump:
    """A dump of task "tensor" in the making."""

    def __init__(self):
        self.entries = {}
        self.files = {}

    def _described(self, name, tensor, requires_grad):
        """What dump.json says of a tensor; its file is kept. Statistics of complex tensors are those of the absolute values."""
        sizes = [float32(abs(v)) for v in tensor.values] if tensor.complex else tensor.values
        self.files[f"{name}.pt"] = torch_file(name, tensor)
        return {"type": "torch.Tensor", "dtype": "torch.complex64" if tensor.complex else "torch.float32",
                "shape": tensor.shape, "Max": max(sizes), "Min": min(sizes), "Mean": float32(math.fsum(sizes) / len(sizes)),
                "Norm": float32(math.sqrt(math.fsum(v * v for v in sizes))), "requires_grad": requires_grad,
                "data_name": f"{name}.pt"}

    def _arguments(self, prefix, arguments, requires_grad):
        return [self._described(f"{prefix}.{i}", argument, requires_grad) if isinstance(argument, Tensor)
                else {"type": type(argument).__name__, "value": argument} for i, argument in enumerate(arguments)]

    def forward(self, api, arguments, output, requires_grad=True):
        name = f"{api}.forward"
        self.entries[name] = {"input_args": self._arguments(f"{name}.input", arguments, requires_grad), "input_kwargs": {},
                              "output": self._arguments(f"{name}.output", [output], requires_grad)}

    def backward(self, api, gradient, results):
        name = f"{api}.backward"
        self.entries[name] = {"input": self._arguments(f"{name}.input", [gradient], False),
                              "output": self._arguments(f"{name}.output", results, False)}

    def write(self, folder):
        tensors = pathlib.Path(folder) / "dump_tensor_data"
        tensors.mkdir(parents=True)
        for name, data in self.files.items():
            (tensors / name).write_bytes(data)
        whole = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "./dump_tensor_data",
                 "data": self.entries}
        (pathlib.Path(folder) / "dump.json").write_text(json.dumps(whole, indent=1))
