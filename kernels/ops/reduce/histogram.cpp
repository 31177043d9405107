// histogram, histogramdd, histc and bincount: counts of elements, or of points in several dimensions, by the bin they
// fall into.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_extrema.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/index/fitting_order.h"
#include "kernels/tensor/memory.h"
#include "kernels/tensor/recorded_dtypes.h"

namespace msrun {
namespace {

using Edges = std::vector<double>;

// The bin of a value, or -1 outside. A bin holds its left edge; the last one its right edge as well.
std::int64_t bin_of(const Edges& edges, double value) {
  if (!(value >= edges.front() && value <= edges.back())) return -1;
  const auto above = std::upper_bound(edges.begin(), edges.end(), value);
  const std::int64_t bin = above - edges.begin() - 1;
  return std::min(bin, static_cast<std::int64_t>(edges.size()) - 2);
}

// Points row by row, in double.
struct Points {
  Tensor values;  // (count, dimensions)
  Tensor weight;  // (count) or undefined
  DType dtype = DType::float32;
};

// Equal bins between low and high, as torch.linspace places them in the dtype of the points.
Edges equal_bins(std::int64_t bins, double low, double high, DType dtype) {
  constexpr std::int64_t limit = std::int64_t{1} << 28;
  if (bins < 1 || bins > limit) throw SkipError("histogram: the number of bins must be positive and at most 2^28.");
  check_tensor_memory(static_cast<std::size_t>(bins + 1) * sizeof(double));
  if (!std::isfinite(low) || !std::isfinite(high)) throw SkipError("histogram: the range is not finite.");
  if (low > high) throw SkipError("histogram: the upper end of the range must not be below the lower one.");
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  Tensor edges(DType::float64, {bins + 1});
  for (std::int64_t i = 0; i <= bins; ++i) {
    const double step = (high - low) / static_cast<double>(bins);
    edges.mutable_data<double>()[i] =
        i <= bins / 2 ? low + step * static_cast<double>(i) : high - step * static_cast<double>(bins - i);
  }
  const Tensor rounded = edges.to(dtype).to(DType::float64);
  return {rounded.data<double>(), rounded.data<double>() + bins + 1};
}

// Low and high of every dimension: given, or those of the points; (0, 1) without points.
std::vector<double> ranges_of(const Bound& args, const Points& points) {
  const std::int64_t dimensions = points.values.size(1);
  if (args.given("range")) {
    std::vector<double> given = args.reals("range");
    if (static_cast<std::int64_t>(given.size()) != 2 * dimensions) {
      throw SkipError("histogram: range must hold two numbers for every dimension.");
    }
    return given;
  }
  std::vector<double> ranges;
  for (std::int64_t d = 0; d < dimensions; ++d) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (std::int64_t i = 0; i < points.values.size(0); ++i) {
      const double value = points.values.data<double>()[i * dimensions + d];
      if (std::isnan(value)) throw SkipError("histogram: the range of the data is not finite.");
      low = std::min(low, value);
      high = std::max(high, value);
    }
    const bool none = points.values.size(0) == 0;
    ranges.push_back(none ? 0 : low);
    ranges.push_back(none ? 1 : high);
  }
  return ranges;
}

Edges given_bins(const Tensor& tensor) {
  const Tensor values = tensor.to(DType::float64).contiguous();
  if (values.rank() != 1 || values.numel() < 2) {
    throw SkipError("histogram: the edges of bins must be a vector of at least two numbers.");
  }
  Edges edges(values.data<double>(), values.data<double>() + values.numel());
  if (!std::is_sorted(edges.begin(), edges.end())) throw SkipError("histogram: the edges of bins must rise.");
  return edges;
}

Points points_of(const Bound& args, bool rows) {
  const Var x = args.var("input");
  if (!is_floating(x.dtype())) throw SkipError("histogram needs a floating-point tensor.");
  if (rows && x.rank() < 2) throw SkipError("histogramdd needs a tensor of at least two dimensions.");
  require_bounded(x.shape());
  Points points;
  points.dtype = x.dtype();
  const std::int64_t dimensions = rows ? x.size(-1) : 1;
  if (dimensions == 0) throw SkipError("histogramdd needs points of at least one dimension.");
  points.values = x.tensor().to(DType::float64).contiguous().reshape(Dims{x.numel() / dimensions, dimensions});
  if (args.given("weight")) {
    const Var weight = args.var("weight");
    Dims expected = x.shape();
    if (rows) expected.pop_back();
    if (weight.shape() != expected) {
      throw SkipError("histogram: the weight must have shape " + tuple_text(expected) + ".");
    }
    points.weight = weight.tensor().to(DType::float64).contiguous();
  }
  return points;
}

// Counts or weights by bin, divided by total and volume for a density.
Tensor count(const Points& points, const std::vector<Edges>& edges, bool density) {
  Dims shape;
  for (const Edges& axis : edges) shape.push_back(static_cast<std::int64_t>(axis.size()) - 1);
  Tensor result = Tensor::zeros(DType::float64, shape);
  auto* bins = result.mutable_data<double>();
  double total = 0;
  const std::size_t dimensions = edges.size();
  for (std::int64_t i = 0; i < points.values.size(0); ++i) {
    const double* point = points.values.data<double>() + i * static_cast<std::int64_t>(dimensions);
    std::int64_t at = 0;
    for (std::size_t d = 0; d < dimensions && at >= 0; ++d) {
      const std::int64_t bin = bin_of(edges[d], point[d]);
      at = bin < 0 ? -1 : at * shape[d] + bin;
    }
    if (at < 0) continue;
    const double weight = points.weight.defined() ? points.weight.data<double>()[i] : 1;
    bins[at] += weight;
    total += weight;
  }
  if (!density) return result;
  for (std::int64_t at = 0; at < result.numel(); ++at) {
    double volume = 1;
    std::int64_t rest = at;
    for (std::size_t d = dimensions; d-- > 0; rest /= shape[d]) {
      const auto bin = static_cast<std::size_t>(rest % shape[d]);
      volume *= edges[d][bin + 1] - edges[d][bin];
    }
    bins[at] /= total * volume;
  }
  return result;
}

Value results(const Bound& args, const Points& points, const std::vector<Edges>& edges, bool as_list) {
  List shown;
  for (const Edges& axis : edges) {
    shown.emplace_back(args.tape().constant(
        Tensor::from<double>(DType::float64, Dims{static_cast<std::int64_t>(axis.size())}, axis).to(points.dtype)));
  }
  const Var counts = args.tape().constant(count(points, edges, args.flag("density")).to(points.dtype));
  return List{counts, as_list ? Value(shown) : shown.front()};
}

Value histogram(const Bound& args) {
  const Points points = points_of(args, false);
  if (args.value("bins").is<Var>()) return results(args, points, {given_bins(args.var("bins").tensor())}, false);
  const std::vector<double> range = ranges_of(args, points);
  return results(args, points, {equal_bins(args.integer("bins"), range[0], range[1], points.dtype)}, false);
}

Value histogramdd(const Bound& args) {
  const Points points = points_of(args, true);
  const auto dimensions = static_cast<std::size_t>(points.values.size(1));
  if (dimensions > Dims::max_rank) throw SkipError("histogramdd: points of more than 16 dimensions are not supported.");
  std::vector<Edges> edges;
  const List* list = args.value("bins").get<List>();
  if (list != nullptr && !list->empty() && list->front().is<Var>()) {
    for (const Var& axis : args.vars("bins")) edges.push_back(given_bins(axis.tensor()));
  } else {
    Dims bins = args.ints("bins");
    if (list == nullptr) bins = Dims(dimensions, args.integer("bins"));
    const std::vector<double> ranges = ranges_of(args, points);
    for (std::size_t d = 0; d < bins.size() && bins.size() == dimensions; ++d) {
      edges.push_back(equal_bins(bins[d], ranges[2 * d], ranges[2 * d + 1], points.dtype));
    }
  }
  if (edges.size() != dimensions) {
    throw SkipError("histogramdd: bins must be one number or one entry for each of the " + std::to_string(dimensions) +
                    " dimensions.");
  }
  return results(args, points, edges, true);
}

// How far the place of an element among equal bins may be off in float32, as a share of all bins: its distance from the
// lower end, the width and their quotient are rounded, and so are the ends.
double place_roundoff(double low, double high, double width) {
  constexpr double roundoff = 0x1p-24;
  return roundoff * (4 + (std::abs(low) + std::abs(high)) / width);
}

// Counts the elements beside the edges of equal bins, for whoever compares the counts.
class BesideEdges {
 public:
  // `choices` are where the counts are noted, if it is not null.
  BesideEdges(Choices* choices, std::int64_t bins, double roundoff)
      : choices_(choices), within_(roundoff * static_cast<double>(bins)) {
    if (choices == nullptr) return;
    counts_.at_lower.resize(static_cast<std::size_t>(bins));
    counts_.at_upper.resize(static_cast<std::size_t>(bins));
  }

  void add(std::int64_t bin, double place) {
    if (counts_.at_lower.empty()) return;
    const auto at = static_cast<std::size_t>(bin);
    const double above = place - static_cast<double>(bin);
    if (above <= within_) ++counts_.at_lower[at];
    if (1 - above <= within_) ++counts_.at_upper[at];
  }

  void note() {
    if (choices_ != nullptr) choices_->edges = std::move(counts_);
  }

 private:
  Choices* choices_;
  double within_;
  EdgeCounts counts_;
};

Tensor equal_bin_counts(const EvaluationContext& context, const Tensor& x, std::int64_t bins, double low, double high) {
  if (bins <= 0) throw SkipError("histc: bins must be positive.");
  const Tensor values = x.to(DType::float64).contiguous();
  const double* from = values.data<double>();
  if (low == high && x.numel() > 0) {
    low = extremum(Extremum::minimum, values, {}, false).item();
    high = extremum(Extremum::maximum, values, {}, false).item();
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!std::isfinite(low) || !std::isfinite(high)) throw SkipError("histc: the range of the data is not finite.");
  if (high < low) throw SkipError("histc: max must be larger than min.");
  // Far from zero the range of one value is still empty, and that of the largest ones is infinite.
  const double width = high - low;
  if (!(width > 0 && std::isfinite(width))) throw SkipError("histc: the range of the data is too wide or too narrow.");
  Tensor counts = Tensor::zeros(DType::int64, Dims{bins});
  auto* target = counts.mutable_data<std::int64_t>();
  const DType recorded = context.recorded_dtype(x.dtype());
  const Positions held = is_half(recorded) ? context.positions() : Positions::wide;
  const auto stored = [recorded](double value) {
    return static_cast<double>(stored_in(recorded, static_cast<float>(value)));
  };
  BesideEdges beside(context.choices(), bins, place_roundoff(low, high, width));
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (!(from[i] >= low && from[i] <= high)) continue;
    double place = (from[i] - low) / width * static_cast<double>(bins);
    // Every step is stored, in either order: torch 1.13 divides first, 2.11 multiplies first.
    const auto share = [&] { return stored(from[i] - stored(low)); };
    const auto whole = [&] { return stored(stored(high) - stored(low)); };
    if (held == Positions::stored) place = stored(stored(share() / whole()) * stored(static_cast<double>(bins)));
    if (held == Positions::stored_by_steps)
      place = stored(stored(share() * stored(static_cast<double>(bins))) / whole());
    const std::int64_t bin = std::min(static_cast<std::int64_t>(place), bins - 1);
    ++target[bin];
    beside.add(bin, place);
  }
  beside.note();
  return counts.to(is_floating(x.dtype()) ? x.dtype() : DType::float32);
}

Tensor bin_counts(const Tensor& x, const Tensor& weights, std::int64_t at_least) {
  if (x.rank() != 1 || is_floating(x.dtype()) || is_complex(x.dtype())) {
    throw SkipError("bincount needs a vector of non-negative integers.");
  }
  if (at_least < 0) throw SkipError("bincount: minlength must not be negative.");
  if (weights.defined() && !(weights.shape() == x.shape()))
    throw SkipError("bincount: the weights must have the shape of the input.");
  const Tensor values = x.to(DType::int64).contiguous();
  const auto* from = values.data<std::int64_t>();
  std::int64_t bins = at_least;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (from[i] < 0 || from[i] >= std::int64_t{1} << 40) {
      throw SkipError("bincount needs a vector of non-negative integers below 2^40.");
    }
    bins = std::max(bins, from[i] + 1);
  }
  if (!weights.defined()) {
    Tensor counts = Tensor::zeros(DType::int64, Dims{bins});
    for (std::int64_t i = 0; i < x.numel(); ++i) ++counts.mutable_data<std::int64_t>()[from[i]];
    return counts;
  }
  const Tensor wide = weights.to(DType::float64).contiguous();
  Tensor sums = Tensor::zeros(DType::float64, Dims{bins});
  for (std::int64_t i = 0; i < x.numel(); ++i) sums.mutable_data<double>()[from[i]] += wide.data<double>()[i];
  return weights.dtype() == DType::float32 ? sums.to(DType::float32) : sums;
}

// The pre-check counts integers in float32 (acc_check_pytorch.md 6.2).
void adapt_integers(List& args, Dict& /*kwargs*/) {
  const TensorSpec* input = recorded_tensor(args, 0);
  if (input == nullptr) return;
  if (input->dtype != "torch.int8" && input->dtype != "torch.int32" && input->dtype != "torch.int64") return;
  auto changed = std::make_shared<TensorSpec>(*input);
  changed->dtype = "torch.float32";
  args[0] = std::shared_ptr<const TensorSpec>(std::move(changed));
}

}  // namespace

OP("histogram(Tensor input, Tensor bins, *, Tensor? weight=None, bool density=False)", histogram);
OP("histogram(Tensor input, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False)", histogram);
NAMES("histogram", "Torch: histogram; Tensor: histogram");
TRAITS(
    "histogram", .fit = [](DrawnCall& call) { sort_drawn(call, 1, "bins"); });

OP("histogramdd(Tensor input, any bins, float[]? range=None, Tensor? weight=None, bool density=False)", histogramdd);
NAMES("histogramdd", "Torch: histogramdd");

OP("histc(Tensor input, int bins=100, Scalar min=0, Scalar max=0)", [](const Bound& args) -> Value {
  return args.tape().constant(equal_bin_counts(args.tape().context(), args.var("input").tensor(), args.integer("bins"),
                                               args.real("min"), args.real("max")));
});
NAMES("histc", "Torch: histc; Tensor: histc; Mint: histc");
TRAITS("histc", .varies = Varies::results, .adapt = adapt_integers,
       .converts = DTypeChange{DType::int64, DType::float32});

OP("bincount(Tensor input, Tensor? weights=None, int minlength=0)", [](const Bound& args) -> Value {
  const std::optional<Var> weights = args.optional_var("weights");
  return args.tape().constant(
      bin_counts(args.var("input").tensor(), weights ? weights->tensor() : Tensor{}, args.integer("minlength")));
});
NAMES("bincount", "Torch: bincount; Tensor: bincount");
TRAITS("bincount", .varies = Varies::results);

}  // namespace msrun
