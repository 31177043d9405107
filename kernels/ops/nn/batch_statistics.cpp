// The steps of synchronised batch norm: statistics of one device, their combination over devices, and normalisation and
// gradients from given statistics. Channels are axis 1; statistics are in the compute dtype, as devices return them.
#include <cmath>
#include <string>

#include "kernels/base/error.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"

namespace msrun {
namespace {

// All axes but that of the channels.
Dims statistics_axes(const Var& x) {
  if (x.rank() < 2) throw SkipError("Batch norm needs a tensor of at least two dimensions.");
  Dims axes;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    if (axis != 1) axes.push_back(axis);
  }
  return axes;
}

// One number per channel, shaped so that it broadcasts over x.
Var per_channel(const Var& values, const Var& x) {
  if (values.shape() != Dims{x.size(1)}) {
    throw SkipError("Batch norm expects one number for each of the " + std::to_string(x.size(1)) +
                    " channels, but got shape " + tuple_text(values.shape()) + ".");
  }
  Dims shape(x.shape().size(), 1);
  shape[1] = x.size(1);
  return reshape(values, shape);
}

struct Statistics {
  Var mean;
  Var variance;  // biased
};

Statistics statistics_of(const Var& x) {
  const Dims axes = statistics_axes(x);
  if (x.numel() == 0) throw SkipError("Batch norm needs at least one value per channel.");
  const Var centre = mean(x, axes, true);
  return {reshape(centre, {x.size(1)}), mean(square(sub(x, centre)), axes, false)};
}

Value batch_norm_stats(const Bound& args) {
  Raised raised;
  const Statistics statistics = statistics_of(raised(args.var("input")));
  return List{statistics.mean, rsqrt(add(statistics.variance, args.real("eps")))};
}

Value batch_norm_update_stats(const Bound& args) {
  Raised raised;
  const Statistics statistics = statistics_of(raised(args.var("input")));
  return List{statistics.mean, statistics.variance};
}

Value batch_norm_elemt(const Bound& args) {
  Raised raised;
  const Var x = raised(args.var("input"));
  statistics_axes(x);
  const Var scale = per_channel(raised(args.var("invstd")), x);
  Var y = mul(sub(x, per_channel(raised(args.var("mean")), x)), scale);
  if (const std::optional<Var> weight = raised(args.optional_var("weight"))) y = mul(y, per_channel(*weight, x));
  if (const std::optional<Var> bias = raised(args.optional_var("bias"))) y = add(y, per_channel(*bias, x));
  return cast(y, args.var("input").dtype());
}

// Mean and reciprocal deviation over all devices, from those of each (devices, channels) and the number of values per
// channel that each has seen.
Value gather_statistics(const Bound& args, const std::vector<double>& counts) {
  const Tensor means = args.var("mean").tensor().to(DType::float64).contiguous();
  const Tensor deviations = args.var("invstd").tensor().to(DType::float64).contiguous();
  if (means.rank() != 2 || deviations.shape() != means.shape()) {
    throw SkipError("The gathered statistics must be two matrices (devices, channels) of one shape.");
  }
  const std::int64_t devices = means.size(0);
  const std::int64_t channels = means.size(1);
  if (static_cast<std::int64_t>(counts.size()) != devices) {
    throw SkipError("There must be one count for each of the " + std::to_string(devices) + " devices.");
  }
  const double epsilon = args.real("eps");
  Tensor mean(DType::float64, {channels});
  Tensor rstd(DType::float64, {channels});
  for (std::int64_t c = 0; c < channels; ++c) {
    double total = 0;
    double average = 0;
    double squares = 0;  // sum of squared distances from the average
    for (std::int64_t d = 0; d < devices; ++d) {
      const double count = counts[static_cast<std::size_t>(d)];
      if (count == 0) continue;
      const double r = deviations.data<double>()[d * channels + c];
      const double step = means.data<double>()[d * channels + c] - average;
      squares += (1 / (r * r) - epsilon) * count + step * step * total * count / (total + count);
      total += count;
      average += step * count / total;
    }
    mean.mutable_data<double>()[c] = average;
    rstd.mutable_data<double>()[c] = 1 / std::sqrt(squares / total + epsilon);
  }
  const DType dtype = compute_dtype(args.var("mean").dtype());
  return List{args.tape().constant(mean.to(dtype)), args.tape().constant(rstd.to(dtype))};
}

// (sum g, sum g (x - mean), gradient of the weight, gradient of the bias); None for what was not asked for.
Value batch_norm_backward_reduce(const Bound& args) {
  Raised raised;
  const Var x = raised(args.var("input"));
  const Var g = raised(args.var("grad_out"));
  if (g.shape() != x.shape()) throw SkipError("The gradient does not have the shape of the input.");
  const Dims axes = statistics_axes(x);
  const Var sum_g = sum(g, axes, false);
  const Var projection = sum(mul(g, sub(x, per_channel(raised(args.var("mean")), x))), axes, false);
  const auto parameter = [&](const Var& value) {
    return args.given("weight") ? cast(value, args.var("weight").dtype()) : value;
  };
  List result(4);
  if (args.flag("input_g")) {
    result[0] = sum_g;
    result[1] = projection;
  }
  if (args.flag("weight_g")) result[2] = parameter(mul(projection, raised(args.var("invstd"))));
  if (args.flag("bias_g")) result[3] = parameter(sum_g);
  return result;
}

// The gradient of the input from the sums over all devices. count has the number of values that each device has seen.
Value batch_norm_backward_elemt(const Bound& args) {
  Raised raised;
  const Var x = raised(args.var("input"));
  const Var g = raised(args.var("grad_out"));
  if (g.shape() != x.shape()) throw SkipError("The gradient does not have the shape of the input.");
  statistics_axes(x);
  const double count = sum(cast(args.var("count"), DType::float64), {}, false).tensor().item();
  const Var rstd = per_channel(raised(args.var("invstd")), x);
  const Var average = per_channel(mul(raised(args.var("sum_dy")), 1 / count), x);
  const Var slope = mul(per_channel(mul(raised(args.var("sum_dy_xmu")), 1 / count), x), square(rstd));
  const Var centred = sub(x, per_channel(raised(args.var("mean")), x));
  Var scale = rstd;
  if (const std::optional<Var> weight = raised(args.optional_var("weight"))) {
    scale = mul(scale, per_channel(*weight, x));
  }
  return cast(mul(sub(sub(g, average), mul(centred, slope)), scale), args.var("input").dtype());
}

}  // namespace

OP("batch_norm_stats(Tensor input, float eps)", batch_norm_stats);
NAMES("batch_norm_stats", "Torch: batch_norm_stats");

OP("batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum)",
   batch_norm_update_stats);
NAMES("batch_norm_update_stats", "Torch: batch_norm_update_stats");

OP("batch_norm_elemt(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor invstd, float eps)",
   batch_norm_elemt);
NAMES("batch_norm_elemt", "Torch: batch_norm_elemt");

OP("batch_norm_gather_stats(Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor? running_var, "
   "float momentum, float eps, int count)",
   [](const Bound& args) {
     const Var mean = args.var("mean");
     const std::int64_t devices = mean.rank() == 2 ? mean.size(0) : 0;
     require_bounded(mean.shape());
     return gather_statistics(
         args, std::vector<double>(static_cast<std::size_t>(devices), static_cast<double>(args.integer("count"))));
   });
NAMES("batch_norm_gather_stats", "Torch: batch_norm_gather_stats");

OP("batch_norm_gather_stats_with_counts(Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, "
   "Tensor? running_var, float momentum, float eps, Tensor counts)",
   [](const Bound& args) {
     const Tensor counts = args.var("counts").tensor().to(DType::float64).contiguous();
     return gather_statistics(args, std::vector<double>(counts.data<double>(), counts.data<double>() + counts.numel()));
   });
NAMES("batch_norm_gather_stats_with_counts", "Torch: batch_norm_gather_stats_with_counts");

OP("batch_norm_backward_reduce(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, bool "
   "input_g, "
   "bool weight_g, bool bias_g)",
   batch_norm_backward_reduce);
NAMES("batch_norm_backward_reduce", "Torch: batch_norm_backward_reduce");

OP("batch_norm_backward_elemt(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, "
   "Tensor sum_dy, Tensor sum_dy_xmu, Tensor count)",
   batch_norm_backward_elemt);
// Older releases call the sums means.
OP("batch_norm_backward_elemt(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, "
   "Tensor mean_dy, Tensor mean_dy_xmu, Tensor count)",
   [](const Bound& args) -> Value {
     const Operator* current = find_canonical("batch_norm_backward_elemt");
     List positional;
     for (const char* name : {"grad_out", "input", "mean", "invstd", "weight", "mean_dy", "mean_dy_xmu", "count"}) {
       positional.push_back(args.value(name));
     }
     return current->call(positional, {}, args.tape());
   });
NAMES("batch_norm_backward_elemt", "Torch: batch_norm_backward_elemt");

}  // namespace msrun
