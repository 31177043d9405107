"""What the worker, whose folder is the argument, does for a torch or a device that is not the one of the recording."""

import mmap
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(sys.argv.pop(1)))

import torch  # noqa: E402

from msrun_torch_worker import calls, devices, forms, names, removed, tensors  # noqa: E402


class Elsewhere:
    """A device that is not the host."""
    torch_device = torch.device("meta")


class Places(unittest.TestCase):
    def setUp(self):
        file = tempfile.TemporaryFile()
        self.addCleanup(file.close)
        file.truncate(mmap.PAGESIZE)
        self.arena = tensors.Arena(file.fileno())

    def places(self, api, args, kwargs=None):
        """Where the tensors among the arguments come to lie."""
        reader = tensors.Reader(self.arena, Elsewhere.torch_device)
        args, kwargs = reader.arguments({"f": api, "a": args, "k": kwargs or {}})
        return [value.device.type for value in [*args, *kwargs.values()] if isinstance(value, torch.Tensor)]

    floats = {"t": [0, 64, "float32", [16], False]}
    integers = {"t": [64, 16, "int64", [2], False]}

    def test_tensors_go_to_the_device(self):
        self.assertEqual(self.places("index_select", [self.floats, 0, self.integers]), ["meta", "meta"])
        self.assertEqual(self.places("lstm", [self.floats, [self.floats], [self.floats]]), ["meta"])
        self.assertEqual(self.places("tensor_split", [self.floats, 3]), ["meta"])
        self.assertEqual(self.places("tensor_split", [self.floats]), ["meta"])

    def test_but_for_those_that_torch_reads_on_the_host(self):
        self.assertEqual(self.places("tensor_split", [self.floats, self.integers, 0]), ["meta", "cpu"])
        by_name = {"tensor_indices_or_sections": self.integers, "dim": 0}
        self.assertEqual(self.places("tensor_split", [self.floats], by_name), ["meta", "cpu"])
        for network in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
            self.assertEqual(self.places(network, [self.floats, self.integers, [], []]), ["meta", "cpu"])
            # In the other form the state stands there.
            self.assertEqual(self.places(network, [self.floats, self.floats, [], True]), ["meta", "meta"])

    def test_the_call_is_run_so(self):
        request = {"id": 1, "n": "Torch", "f": "tensor_split", "op": "tensor_split", "b": False, "only": None,
                   "a": [self.floats, self.integers], "k": {}, "gy": [], "o": 128}
        call = calls.Call(request, self.arena, Elsewhere)
        args, kwargs = call._reader.arguments(request)
        self.assertEqual(len(torch.tensor_split(*args, **kwargs)), 3)


class Devices(unittest.TestCase):
    """What a call says of a device is of the one that it was recorded on."""

    def test_are_the_one_that_is_tested(self):
        device = Elsewhere.torch_device
        args, kwargs = forms.on_device("zeros", [3, "npu:3"], {"device": 5, "dtype": None}, device)
        self.assertEqual((args, kwargs), ([3, device], {"device": device, "dtype": None}))
        args, kwargs = forms.on_device("arange", [5], {"device": None, "end": 3}, device)
        self.assertEqual((args, kwargs), ([5], {"device": None, "end": 3}))

    def test_are_not_part_of_a_type(self):
        x = torch.zeros(2)
        for text in ("torch.npu.HalfTensor", "torch.cuda.HalfTensor", "torch.HalfTensor"):
            args, kwargs = forms.on_device("type", [x, text], {}, Elsewhere.torch_device)
            self.assertEqual(torch.Tensor.type(*args, **kwargs).dtype, torch.float16)
        args, _ = forms.on_device("type", [x, torch.int32], {}, Elsewhere.torch_device)
        self.assertIs(args[1], torch.int32)
        self.assertEqual(forms.without_device("type", "torch.cuda.FloatTensor"), "torch.FloatTensor")
        self.assertEqual(forms.without_device("type", x.type()), "torch.FloatTensor")
        self.assertIs(forms.without_device("type", x), x)


class Names(unittest.TestCase):
    """Recordings shorten torch.linalg.norm to norm."""

    def test_of_what_torch_has_no_more_are_those_of_linalg(self):
        for name in ("solve", "lstsq", "eig", "matrix_rank", "cond"):
            self.assertIs(names.resolve("Torch", name, name), getattr(torch.linalg, name))

    def test_that_are_there_twice_go_by_the_keywords(self):
        for name, keyword in (("norm", "ord"), ("svd", "full_matrices"), ("qr", "mode")):
            self.assertIs(names.resolve("Torch", name, name, frozenset({keyword})), getattr(torch.linalg, name))
            self.assertIs(names.resolve("Torch", name, name, frozenset({"dim"})), getattr(torch, name))


class Errors(unittest.TestCase):
    """What of an error's text is for the user."""

    def text(self, message, kind=RuntimeError):
        return calls._failures.text_of(kind(message))

    def test_is_the_first_line(self):
        self.assertEqual(self.text("CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert' in https://x"),
                         "RuntimeError: CUDA error: device-side assert triggered")
        self.assertEqual(self.text("\n  it failed \r\nhere"), "RuntimeError: it failed")
        self.assertEqual(self.text("\n"), "RuntimeError")

    def test_is_not_the_books_of_the_allocator(self):
        told = ("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.18 GiB of which "
                "1.50 GiB is free.")
        books = (" Including non-PyTorch memory, this process has 632.00 MiB memory in use. Of the allocated memory "
                 "64.00 KiB is allocated by PyTorch. If reserved but unallocated memory is large try something.")
        self.assertEqual(self.text(told + books), "RuntimeError: " + told)
        self.assertEqual(self.text(told), "RuntimeError: " + told)

    advice = ("\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below "
              "might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1.\n"
              "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n")

    def test_advice_tells_nothing(self):
        def status(text):
            return calls._failures.status_of(RuntimeError("CUDA error: " + text + self.advice))
        for text in ("invalid configuration argument", "invalid argument", "too many resources requested for launch"):
            self.assertEqual(status(text), "failed")
        for text in ("device-side assert triggered", "an illegal memory access was encountered",
                     "an illegal instruction was encountered", "misaligned address", "unspecified launch failure",
                     "hardware stack error", "invalid program counter", "unknown error"):
            self.assertEqual(status(text), "lost")
        self.assertEqual(status("out of memory"), "oom")

    def test_libraries_want_memory_in_their_own_words(self):
        for text in ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
                     "cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "std::bad_alloc", "[Errno 12] Cannot allocate memory"):
            self.assertEqual(calls._failures.status_of(RuntimeError(text)), "oom")

    def test_decides_by_all_of_it_what_went_wrong(self):
        self.assertEqual(calls._failures.status_of(RuntimeError("failed\nCUDA error: illegal memory access")), "lost")


class Refusing:
    """Settings of torch 2.9 and later whose older and newer names were mixed: reading an older one is an error."""

    def __init__(self, **settings):
        self.__dict__.update(settings)

    @property
    def allow_tf32(self):
        raise RuntimeError("the legacy and new APIs have been mixed")


class Settings(unittest.TestCase):
    """Those of a GPU that change results."""

    def told(self, matmul, cudnn):
        with mock.patch.object(torch.backends.cuda, "matmul", matmul), mock.patch.object(torch.backends, "cudnn", cudnn):
            return devices.Cuda("cuda", 0).settings()

    def test_are_those_of_the_version(self):
        matmul = types.SimpleNamespace(allow_tf32=True, allow_fp16_accumulation=False)
        told = self.told(matmul, types.SimpleNamespace(allow_tf32=False, benchmark=False))
        self.assertIs(told["cuda.matmul.allow_tf32"], True)
        self.assertIs(told["cudnn.allow_tf32"], False)
        self.assertIs(told["cudnn.benchmark"], False)
        self.assertIn("float32_matmul_precision", told)
        for absent in ("cudnn.deterministic", "cuda.matmul.fp32_precision", "cuda.matmul.allow_fp16_accumulation"):
            self.assertNotIn(absent, told)

    def test_name_what_is_on_beyond_them(self):
        told = self.told(types.SimpleNamespace(allow_tf32=False, allow_fp16_accumulation=True), types.SimpleNamespace())
        self.assertIs(told["cuda.matmul.allow_fp16_accumulation"], True)

    def test_are_the_newer_ones_where_torch_refuses_to_tell_the_older(self):
        cudnn = Refusing(conv=types.SimpleNamespace(fp32_precision="tf32"),
                         rnn=types.SimpleNamespace(fp32_precision="ieee"))
        refusal = mock.patch.object(torch, "get_float32_matmul_precision", side_effect=RuntimeError("mixed"))
        with refusal:
            told = self.told(Refusing(fp32_precision="ieee"), cudnn)
        self.assertEqual(told["cuda.matmul.fp32_precision"], "ieee")
        self.assertEqual(told["cudnn.conv.fp32_precision"], "tf32")
        self.assertEqual(told["cudnn.rnn.fp32_precision"], "ieee")
        for absent in ("cudnn.allow_tf32", "cuda.matmul.allow_tf32", "float32_matmul_precision"):
            self.assertNotIn(absent, told)


class Removed(unittest.TestCase):
    """Whatever torch it is, the forms give what those of torch 1 give."""

    def setUp(self):
        torch.manual_seed(1)
        self.signal = torch.randn(40)

    def assert_same(self, ours, theirs):
        ours, theirs = [value if isinstance(value, tuple) else (value,) for value in (ours, theirs)]
        self.assertEqual(len(ours), len(theirs))
        for a, b in zip(ours, theirs):
            self.assertEqual(a.dtype, b.dtype)
            torch.testing.assert_close(a, b)

    def test_stft_is_real_unless_something_is_complex(self):
        window = torch.hann_window(8)
        real = torch.view_as_real(torch.stft(self.signal, 8, 4, window=window, return_complex=True))
        self.assert_same(removed.stft(self.signal, 8, 4, None, window), real)
        self.assert_same(removed.stft(self.signal, n_fft=8, hop_length=4, window=window, return_complex=None), real)
        self.assertTrue(removed.stft(self.signal, 8, return_complex=True).is_complex())
        self.assertTrue(removed.stft(self.signal, 8, 4, None, None, True, "reflect", False, None, True).is_complex())
        self.assertTrue(removed.stft(self.signal, 8, window=window.to(torch.complex64)).is_complex())
        self.assertTrue(removed.stft(self.signal.to(torch.complex64), 8, onesided=False).is_complex())

    def test_istft_takes_what_stft_gave(self):
        window = torch.hann_window(8)
        parts = torch.stft(self.signal, 8, window=window, return_complex=True)
        expected = torch.istft(parts, 8, window=window)
        self.assert_same(removed.istft(parts, 8, window=window), expected)
        leaf = torch.view_as_real(parts).clone().requires_grad_()
        self.assert_same(removed.istft(leaf, 8, window=window), expected)
        removed.istft(leaf, 8, window=window).sum().backward()
        self.assertEqual(leaf.grad.shape, leaf.shape)

    def test_symeig_reads_the_upper_triangle(self):
        matrix = torch.randn(3, 3)
        values, vectors = removed.symeig(matrix, True)
        self.assert_same(values, torch.linalg.eigvalsh(matrix.triu() + matrix.triu(1).T))
        self.assertEqual(vectors.shape, (3, 3))
        values, vectors = removed.symeig(matrix, upper=False)
        self.assert_same(values, torch.linalg.eigvalsh(matrix.tril() + matrix.tril(-1).T))
        self.assertEqual(vectors.shape, (0,))

    def test_this_torch_gives_the_same(self):
        if not torch.__version__.startswith("1."):
            self.skipTest("this torch has them no more")
        matrix = torch.randn(4, 4)
        spectrum = torch.view_as_real(torch.stft(self.signal, 8, return_complex=True))
        self.assert_same(removed.stft(self.signal, 8), torch.stft(self.signal, 8))
        self.assert_same(removed.istft(spectrum, 8), torch.istft(spectrum, 8))
        for eigenvectors in (False, True):
            self.assert_same(removed.symeig(matrix, eigenvectors), tuple(torch.symeig(matrix, eigenvectors)))

    def test_names_lead_to_them_where_torch_has_them_no_more(self):
        expected = {} if torch.__version__.startswith("1.") else removed.ALL
        self.assertEqual(removed.FORMS, expected)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
