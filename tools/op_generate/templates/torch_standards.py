"""The precision standards by which a script of op_generate judges an output: a part of torch_script.py, into which
op_generate puts it. LIMITS are the numbers of the standards; rows are pairs of what a table shows, a name and a value.
"""
import torch

LIMITS = {}

RAISED = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: torch.float64}

BINARY = "Binary Equality Standard"
ABSOLUTE = "Absolute Threshold Standard"
ULP = "ULP error Standard"
THOUSANDTH = "Thousandth Standard"
BENCHMARK = "Benchmark Standard"


def short_dtype(text):
    return text.split(".")[-1]


def dtype_limits(dtype):
    return LIMITS.get(short_dtype(str(dtype)), LIMITS["default"])


def share(mask, of):
    count = torch.sum(of)
    return 0 if count == 0 else (torch.sum(mask & of) / count).item()


def verdict(passes):
    return "pass" if passes else "error"


class Pair:
    """The quantities that the standards share, of a floating output and its benchmark."""

    def __init__(self, device, bench):
        self.device = device
        self.bench = bench
        self.limits = dtype_limits(device.dtype)
        self.narrow = bench.to(device.dtype)
        self.abs_err = torch.abs(device - bench)
        eps = 2.0 ** -52 if bench.dtype == torch.float64 else 2.0 ** -23
        self.rel_err = self.abs_err / (torch.abs(bench) + eps)
        finite = torch.isfinite(device) & torch.isfinite(self.narrow)
        self.small = finite & (torch.abs(bench) <= self.limits["small"])
        self.normal = finite & ~self.small
        # Most numbers leave out what is not finite. NaN on both sides and equal infinities agree; anything else does
        # not, unless one side is just inside of the dtype's range and the other just outside.
        self.agree = ~finite & ((device == self.narrow) | (torch.isnan(device) & torch.isnan(self.narrow)))
        self.disagree = ~finite & ~self.agree & ~self.just_overflows()

    def just_overflows(self):
        end = torch.finfo(self.device.dtype).max
        device, bench = self.device.to(torch.float64).clamp(-end, end), self.bench.to(torch.float64)
        return torch.isfinite(bench) & (torch.abs(device - bench) <= self.limits["rtol"] * torch.abs(bench))

    def small_value_errors(self):
        return share(self.abs_err > self.limits["small_atol"], self.small)

    def judge(self, result):
        """Rows that say what is not finite, and the result with it; None stays if nothing is wrong there."""
        counts = [("NaN or Inf on Both Sides", torch.sum(self.agree).item()),
                  ("Unequal NaN or Inf", torch.sum(self.disagree).item())]
        return [row for row in counts if row[1] > 0], "error" if counts[1][1] > 0 else result


def binary_rows(device, bench):
    unequal = device != bench
    if device.dtype.is_floating_point:
        unequal &= ~(torch.isnan(device) & torch.isnan(bench))
    rate = unequal.sum().item() / device.numel()
    return [("Error Rate", rate)], verdict(rate == 0)


def absolute_rows(pair):
    relative = share(pair.rel_err > pair.limits["rtol"], pair.normal)
    absolute = pair.small_value_errors()
    return ([("Relative Error Ratio", relative), ("Absolute Error Ratio", absolute)],
            verdict(relative == 0 and absolute == 0))


def ulp_errors(pair, wide):
    bench = pair.bench.to(wide)
    exponent = torch.where(bench == 0, torch.zeros_like(bench), torch.floor(torch.log2(torch.abs(bench))))
    exponent = torch.max(exponent, torch.full_like(exponent, pair.limits["min_exponent"]))
    return torch.abs(pair.device.to(wide) - bench) * torch.pow(torch.full_like(exponent, 2.0),
                                                               pair.limits["mantissa_bits"] - exponent)


def ulp_rows(pair):
    def mean_and_proportion(errors):
        return torch.mean(errors).item(), (torch.sum(errors > limits["ulp_limit"]) / errors.numel()).item()

    limits = pair.limits
    ulp = ulp_errors(pair, torch.float64 if pair.device.dtype == torch.float32 else torch.float32)
    mean, proportion = mean_and_proportion(ulp)
    judged = mean, proportion
    if not torch.isfinite(ulp).all():  # the numbers say nothing then
        finite = ulp_errors(pair, torch.float64)[~pair.agree]
        judged = mean_and_proportion(finite) if finite.numel() > 0 else (0, 0)
    passes = judged[0] < limits["ulp_mean"] or judged[1] < limits["ulp_proportion"]
    return ([("Maximum ULP Error", torch.max(ulp).item()), ("Mean ULP Error", mean),
             ("ULP Error Proportion", proportion)], verdict(passes))


def thousandth_rows(pair):
    near = torch.sum(pair.rel_err < 0.001)
    judged = ((near + torch.sum(pair.agree)) / pair.rel_err.numel()).item()
    return ([("Thousandth ratio", (near / pair.rel_err.numel()).item())], verdict(judged > LIMITS["thousandth"]))


def root_mean_square(errors):
    square = torch.sum(torch.square(errors)) / errors.numel()
    if torch.isfinite(square):
        return torch.sqrt(square.to(RAISED.get(square.dtype, square.dtype))).to(square.dtype)
    wide = errors.to(torch.float64)  # the squares are too large for the dtype
    largest = torch.max(wide)
    return (largest * torch.sqrt(torch.mean(torch.square(wide / largest)))).to(errors.dtype)


def benchmark_rows(pair):
    count = torch.sum(pair.normal)
    rel_err = pair.rel_err[pair.normal]
    difference = pair.device - pair.narrow
    balance = torch.abs(torch.sum(difference > 0) - torch.sum(difference < 0)) / difference.numel()
    return [("Small Value Error Proportion", pair.small_value_errors()),
            ("Maximum Relative Error", 0 if count == 0 else torch.max(rel_err).item()),
            ("Mean Relative Error", 0 if count == 0 else (torch.sum(rel_err) / count).item()),
            ("Root Mean Squared Error", 0 if count == 0 else root_mean_square(pair.abs_err[pair.normal]).item()),
            ("Error Balance", balance.item())]


def rows_of(standard, pair):
    """Of the standards that judge alone."""
    return {ABSOLUTE: absolute_rows, ULP: ulp_rows, THOUSANDTH: thousandth_rows}[standard](pair)
