"""Forms of calls that torch 2 took away, as its error messages say what is to be called in their place. Recordings of
torch 1 have them."""

import torch


def stft(input, *args, **kwargs):
    """Of real numbers: without return_complex the result was real, with the two parts along a last axis."""
    in_order = ("n_fft", "hop_length", "win_length", "window", "center", "pad_mode", "normalized", "onesided",
                "return_complex")
    given = {**dict(zip(in_order, args)), **kwargs}
    window = given.get("window")
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if given.get("return_complex") is None and not is_complex:
        given["return_complex"] = False
    return torch.stft(input, **given)


def istft(input, *args, **kwargs):
    """Takes what the old form of stft returned."""
    if not input.is_complex():
        input = torch.view_as_complex(input.contiguous())
    return torch.istft(input, *args, **kwargs)


def symeig(input, eigenvectors=False, upper=True):
    triangle = "U" if upper else "L"
    if eigenvectors:
        return tuple(torch.linalg.eigh(input, UPLO=triangle))
    return torch.linalg.eigvalsh(input, UPLO=triangle), input.new_empty(0)


ALL = {"stft": stft, "istft": istft, "symeig": symeig}
# By the name of what they stand for: those that this torch lacks.
FORMS = {} if torch.__version__.startswith("1.") else ALL
