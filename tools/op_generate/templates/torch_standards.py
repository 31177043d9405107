"""The precision standards by which a script of op_generate judges an output: a part of torch_script.py, into which
op_generate puts it. LIMITS are the numbers of the standards. A metric is what a table shows of one number: its name,
the number, the limit that it is held to, and what follows from that, "pass", "warning" or "error". The last two are empty
where a number is not judged.
"""
import torch

LIMITS = {}

RAISED = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: torch.float64,
          torch.complex64: torch.complex128}

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


def measured(name, number):
    """A metric that is not judged by itself."""
    return name, number, "", ""


def judged(name, number, limit, result):
    return name, number, limit, result


def metric_rows(metrics):
    """What a table shows: each number, and below it its limit and what follows."""
    rows = []
    for name, number, limit, result in metrics:
        rows.append((name, str(number)))
        if limit:
            rows.append(("Result (%s)" % limit, result))
    return rows


def numbers_of(metrics):
    return {name: number for name, number, _, _ in metrics}


def real_parts(tensor):
    """Of a complex tensor its real and imaginary parts, which are compared one by one."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


class Pair:
    """The quantities that the standards share, of a floating output and its benchmark. computed is the dtype whose
    limits hold: that of the output, or a narrower one in which the output was computed."""

    def __init__(self, device, bench, computed=None):
        self.device = device
        self.bench = bench
        self.limits = dtype_limits(computed or device.dtype)
        self.narrow = bench.to(device.dtype)
        self.abs_err = torch.abs(device - bench)
        eps = 2.0 ** -52 if bench.dtype == torch.float64 else 2.0 ** -23
        self.rel_err = self.abs_err / (torch.abs(bench) + eps)
        finite = torch.isfinite(device) & torch.isfinite(self.narrow)
        self.small = finite & (torch.abs(bench) <= self.limits["small"])
        self.normal = finite & ~self.small
        # Most numbers leave out what is not finite. NaN on both sides and equal infinities agree; anything else does
        # not, unless one side is just inside of the dtype's range and the other just outside.
        both_nan = torch.isnan(device) & torch.isnan(self.narrow)
        self.nowhere_known = torch.sum(both_nan).item()
        self.agree = ~finite & ((device == self.narrow) | both_nan)
        self.disagree = ~finite & ~self.agree & ~self.just_overflows()

    def just_overflows(self):
        end = torch.finfo(self.device.dtype).max
        device, bench = self.device.to(torch.float64).clamp(-end, end), self.bench.to(torch.float64)
        return torch.isfinite(bench) & (torch.abs(device - bench) <= self.limits["rtol"] * torch.abs(bench))

    def small_value_errors(self):
        return share(self.abs_err > self.limits["small_atol"], self.small)

    def judge(self, result):
        """Metrics that say what is not finite, and the result with them; None stays if nothing is wrong there."""
        odd = [measured("NaN or Inf on Both Sides", torch.sum(self.agree).item()),
               measured("Unequal NaN or Inf", torch.sum(self.disagree).item())]
        if odd[1][1] > 0:
            result = "error"
        elif self.nowhere_known > 0:
            result = unknown(result)
        return [metric for metric in odd if metric[1] > 0], result


def unknown(result):
    """The result where elements are NaN on both sides: they agree, and say nothing of the device."""
    return "warning" if result in (None, "pass") else result


def binary_metrics(device, bench):
    unequal = device != bench
    both_nan = torch.zeros_like(unequal)
    if device.dtype.is_floating_point:
        both_nan = torch.isnan(device) & torch.isnan(bench)
        unequal &= ~both_nan
    rate = unequal.sum().item() / device.numel()
    result = verdict(rate == 0)
    metrics = [judged("Error Rate", rate, "= 0", result)]
    if both_nan.any():
        metrics.append(measured("NaN or Inf on Both Sides", both_nan.sum().item()))
        result = unknown(result)
    return metrics, result


def absolute_metrics(pair):
    metrics = [judged(name, ratio, "= 0", verdict(ratio == 0)) for name, ratio in
               (("Relative Error Ratio", share(pair.rel_err > pair.limits["rtol"], pair.normal)),
                ("Absolute Error Ratio", pair.small_value_errors()))]
    return metrics, verdict(all(number == 0 for _, number, _, _ in metrics))


def ulp_errors(pair, wide):
    bench = pair.bench.to(wide)
    exponent = torch.where(bench == 0, torch.zeros_like(bench), torch.floor(torch.log2(torch.abs(bench))))
    exponent = torch.max(exponent, torch.full_like(exponent, pair.limits["min_exponent"]))
    return torch.abs(pair.device.to(wide) - bench) * torch.pow(torch.full_like(exponent, 2.0),
                                                               pair.limits["mantissa_bits"] - exponent)


def mean_and_proportion(errors, limit):
    return torch.mean(errors).item(), (torch.sum(errors > limit) / errors.numel()).item()


def ulp_metrics(pair):
    limits = pair.limits
    ulp = ulp_errors(pair, torch.float64 if pair.device.dtype == torch.float32 else torch.float32)
    shown = mean_and_proportion(ulp, limits["ulp_limit"])
    mean, proportion = shown
    if not torch.isfinite(ulp).all():  # the numbers say nothing then
        finite = ulp_errors(pair, torch.float64)[~pair.agree]
        mean, proportion = mean_and_proportion(finite, limits["ulp_limit"]) if finite.numel() > 0 else (0, 0)
    metrics = [measured("Maximum ULP Error", torch.max(ulp).item())]
    has_mean_limit = limits["ulp_mean"] > 0
    metrics.append(judged("Mean ULP Error", shown[0], "< %g" % limits["ulp_mean"], verdict(mean < limits["ulp_mean"]))
                   if has_mean_limit else measured("Mean ULP Error", shown[0]))
    metrics.append(judged("ULP Error Proportion", shown[1], "< %g" % limits["ulp_proportion"],
                          verdict(proportion < limits["ulp_proportion"])))
    return metrics, verdict(any(result == "pass" for _, _, _, result in metrics))  # one of the two is enough


def thousandth_metrics(pair):
    near = torch.sum(pair.rel_err < 0.001)
    result = verdict(((near + torch.sum(pair.agree)) / pair.rel_err.numel()).item() > LIMITS["thousandth"])
    return [judged("Thousandth ratio", (near / pair.rel_err.numel()).item(), "> %g" % LIMITS["thousandth"],
                   result)], result


def root_mean_square(errors):
    square = torch.sum(torch.square(errors)) / errors.numel()
    if torch.isfinite(square):
        return torch.sqrt(square.to(RAISED.get(square.dtype, square.dtype))).to(square.dtype)
    wide = errors.to(torch.float64)  # the squares are too large for the dtype
    largest = torch.max(wide)
    return (largest * torch.sqrt(torch.mean(torch.square(wide / largest)))).to(errors.dtype)


def benchmark_metrics(pair):
    count = torch.sum(pair.normal)
    rel_err = pair.rel_err[pair.normal]
    difference = pair.device - pair.narrow
    balance = torch.abs(torch.sum(difference > 0) - torch.sum(difference < 0)) / difference.numel()
    return [measured("Small Value Error Proportion", pair.small_value_errors()),
            measured("Maximum Relative Error", 0 if count == 0 else torch.max(rel_err).item()),
            measured("Mean Relative Error", 0 if count == 0 else (torch.sum(rel_err) / count).item()),
            measured("Root Mean Squared Error", 0 if count == 0 else root_mean_square(pair.abs_err[pair.normal]).item()),
            measured("Error Balance", balance.item())]


def ratio_metrics(metrics, gpu):
    """Of the Benchmark Standard: each number as the ratio to that of a GPU, what the documents say of it, and the result.
    gpu are the numbers of the GPU by their names."""
    found, results = [], set()
    for name, number, _, _ in metrics:
        other = float(gpu[name])
        ratio = number / other if other != 0 else (1.0 if number == 0 else float("inf"))
        warning = LIMITS["warning_maximum"] if name == "Maximum Relative Error" else LIMITS["warning"]
        result = "pass" if ratio <= LIMITS["pass"] else "warning" if ratio <= warning else "error"
        results.add(result)
        found.append(measured(name + " Ratio", ratio))
        found.append(measured(name + " Result", "%s (ratio %.3g, pass up to %g, warning up to %g)"
                              % (result, ratio, LIMITS["pass"], warning)))
    return found, next(result for result in ("error", "warning", "pass") if result in results)


def gpu_metric(metrics, gpu):
    """Of the ULP standard: an NPU passes, too, whose share of errors beyond the limit is smaller than a GPU's."""
    name = "ULP Error Proportion"
    return judged(name + " of GPU", gpu[name], "> NPU", verdict(numbers_of(metrics)[name] < gpu[name]))


def metrics_of(standard, pair):
    """Of the standards that judge alone: the metrics, and the result."""
    return {ABSOLUTE: absolute_metrics, ULP: ulp_metrics, THOUSANDTH: thousandth_metrics}[standard](pair)
