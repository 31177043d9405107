#include "runner/check/sampled.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "kernels/base/error.h"
#include "runner/check/backward.h"
#include "runner/judge/axis_samples.h"
#include "runner/judge/judge.h"
#include "runner/judge/row_lines.h"

namespace msrun {
namespace {

// Standard deviations of a random sum's error that are no news: less than one sum in 5e8 is beyond by chance.
constexpr double most_deviations = 6;
// The variance that rounding to nearest gives is taken so many times, as the sums themselves err a little.
constexpr double storing_slack = 1.25;
// Most that is computed of a call, as a share of all; above, the whole is hardly dearer.
constexpr double most_cost = 0.4;

bool can_be_sampled(DType dtype) { return is_half(dtype) || dtype == DType::float32; }

// What a sample says of one compared tensor: the result, or the gradient of an argument.
struct Evidence {
  DetailsRow row;
  bool has_row = false;
  std::vector<std::string> drawn;  // "8 of 4096"
  std::int64_t sums = 0;
  double typical = 0;  // root mean square of the elements
  double outside = 1;  // chance that an element is at none of the drawn places
  struct Limit {
    double limit = 0;
    double deviation = 0;
  };
  std::vector<Limit> limits;  // typical ones of the random sums, one for each index

  double chance_to_miss_element(double error) const {
    double chance = outside;
    for (const auto& [limit, deviation] : limits) chance *= chance_to_miss(error, limit, deviation);
    return chance;
  }
};

std::string percent(double chance) {
  if (chance < 1e-9) return "less than 1e-7 %";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), chance > 0.99 ? "%.4g %%" : "%.2g %%", 100 * chance);
  return text.data();
}

std::string sampled_text(const Evidence& evidence) {
  std::string drawn;
  for (const std::string& axis : evidence.drawn) drawn += (drawn.empty() ? "" : " and ") + axis;
  std::string sizes;
  std::string chances;
  for (const auto& [size, text] : {std::pair(1.0, "1"), std::pair(0.1, "0.1"), std::pair(0.01, "0.01")}) {
    sizes += (sizes.empty() ? "" : ", ") + std::string(text);
    chances += (chances.empty() ? "" : ", ") + percent(evidence.chance_to_miss_element(size * evidence.typical));
  }
  return "Sampled: the benchmark was computed for " + drawn + " rows or columns and for " +
         std::to_string(evidence.sums) + " random sums; the chance to miss one element that is off by " + sizes +
         " times the typical one is " + chances + ".";
}

// The worse of two rows of one tensor, each of a part of it.
bool is_worse(const DetailsRow& row, const DetailsRow& than) {
  return static_cast<int>(row.status) > static_cast<int>(than.status);
}

// The errors of all random sums of one group of places, as multiples of their deviations: a fault in one of the places
// all along the other axes may be small in each sum, and is in every one of them. Their squares add up to a chi-squared
// variable, whose deviation is the root of twice their number.
class SquaredErrors {
 public:
  SquaredErrors(const Dims& shape, std::int64_t axis)
      : groups_(static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)])) {
    for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) inner_ *= shape[i];
    for (const std::int64_t size : shape) each_ *= size;
    each_ /= std::max<std::int64_t>(shape[static_cast<std::size_t>(axis)], 1);
  }

  // place is the row-major index of the sum.
  void add(std::int64_t place, double squared_multiple) {
    groups_[static_cast<std::size_t>(place / inner_) % groups_.size()] += squared_multiple;
  }

  bool any_beyond() const {
    const auto number = static_cast<double>(each_);
    return std::ranges::any_of(groups_,
                               [&](double sum) { return sum > number + most_deviations * std::sqrt(2 * number); });
  }

 private:
  std::vector<double> groups_;
  std::int64_t inner_ = 1;
  std::int64_t each_ = 1;  // sums of a group
};

// A result of the device, and its random sums along every index that it is looked at by: formed together when the first
// is asked for.
class SummedResult {
 public:
  SummedResult() = default;
  explicit SummedResult(const Tensor& result) : result_(&result) {}

  void add(std::int64_t axis, const SignedSums& sums) { axes_.push_back({axis, &sums}); }

  const ResultSums& along(std::int64_t axis) {
    if (sums_.empty()) sums_ = result_sums(*result_, axes_);
    const auto found = std::ranges::find(axes_, axis, &AxisSums::axis);
    return sums_[static_cast<std::size_t>(found - axes_.begin())];
  }

 private:
  const Tensor* result_ = nullptr;
  std::vector<AxisSums> axes_;
  std::vector<ResultSums> sums_;
};

void take(Evidence& evidence, DetailsRow row, const Tensor& part, const Tensor& whole) {
  if (row.shape == tuple_text(part.shape())) row.shape = tuple_text(whole.shape());
  if (!evidence.has_row || is_worse(row, evidence.row)) evidence.row = std::move(row);
  evidence.has_row = true;
}

// The part of an evaluation at those places of the index, in the tensors that have it.
Evaluation part_of(const Evaluation& all, const AxisSample& sample, std::int64_t first, std::int64_t count) {
  Evaluation part = all;
  const auto cut = [&](Value& value, std::int64_t axis) {
    const Tensor* tensor = value.get<Tensor>();
    if (tensor != nullptr) value = tensor->slice(axis, first, count).contiguous();
  };
  if (sample.axis.result) cut(part.output, *sample.axis.result);
  for (const auto& [tensor, axis] : sample.axis.arguments) {
    if (tensor < part.gradients.size()) cut(part.gradients[tensor], axis);
  }
  return part;
}

DetailsRow finished(Evidence& evidence) {
  add_line(evidence.row, sampled_text(evidence));
  return std::move(evidence.row);
}

static Status worst(const std::vector<DetailsRow>& rows) {
  Status status = Status::pass;
  for (const DetailsRow& row : rows) {
    if (row.status != Status::skip && static_cast<int>(row.status) > static_cast<int>(status)) status = row.status;
  }
  return status;
}

class SampledCheck {
 public:
  explicit SampledCheck(const SampledInput& input)
      : input_(input), output_(*input.device.output.get<Tensor>()), gradients_(wanted_gradients()) {}

  std::optional<SampledResult> run() {
    samples_ = draw_samples(input_.op, input_.call, output_.rank(), input_.options.materialise.seed);
    std::erase_if(samples_, [&](const AxisSample& sample) { return !is_of_a_result(sample); });
    of_gradients_.resize(gradients_.size());
    if (!is_covered()) return std::nullopt;
    if (!std::ranges::all_of(samples_, [&](const AxisSample& sample) { return fits(sample); })) return std::nullopt;
    prepare_sums();
    const std::vector<std::vector<Tensor>> sums = sums_of_inputs(input_.call, samples_);
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (!agrees(samples_[i], sums[i])) return std::nullopt;
    }
    return result();
  }

 private:
  // The gradients that are compared, by the number of their tensor; null where there is none.
  std::vector<const Tensor*> wanted_gradients() const {
    const MaterialisedCall& call = input_.call;
    std::vector<const Tensor*> wanted;
    for_each_argument(call, [&](const Tensor&) {
      const std::size_t at = wanted.size();
      const bool asked = call.backward.run && at < call.requires_grad.size() && call.requires_grad[at];
      wanted.push_back(asked && at < input_.device.gradients.size() ? input_.device.gradients[at].get<Tensor>()
                                                                    : nullptr);
    });
    return wanted;
  }

  // Whether the output or a compared gradient has the index.
  bool is_of_a_result(const AxisSample& sample) const {
    return sample.axis.result || std::ranges::any_of(sample.axis.arguments, [&](const TensorAxis::Place& place) {
             return gradients_[place.tensor] != nullptr;
           });
  }

  void prepare_sums() {
    summed_output_ = SummedResult(output_);
    for (const Tensor* gradient : gradients_)
      summed_gradients_.push_back(gradient == nullptr ? SummedResult() : SummedResult(*gradient));
    for (const AxisSample& sample : samples_) {
      if (sample.sums_result()) summed_output_.add(*sample.axis.result, sample.sums);
      for (const auto& [tensor, axis] : sample.axis.arguments) {
        if (gradients_[tensor] != nullptr) summed_gradients_[tensor].add(axis, sample.sums);
      }
    }
  }

  // Every compared tensor is looked at through random sums, and that saves something.
  bool is_covered() const {
    double cost = 0;
    for (const AxisSample& sample : samples_) cost += sample.cost();
    if (cost > most_cost) return false;
    const auto covered = [&](const auto& is_in) { return std::ranges::any_of(samples_, is_in); };
    if (!covered([](const AxisSample& sample) { return sample.sums_result(); })) return false;
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      const bool asked =
          input_.call.backward.run && i < input_.call.requires_grad.size() && input_.call.requires_grad[i];
      if (!asked) continue;
      if (gradients_[i] == nullptr) return false;
      if (!covered([i](const AxisSample& sample) { return sample.has_argument(i); })) return false;
    }
    return true;
  }

  // The device's tensors have the index, too.
  bool fits(const AxisSample& sample) const {
    const auto has = [&](const Tensor& tensor, std::int64_t axis) {
      return can_be_sampled(tensor.dtype()) && axis < tensor.rank() && tensor.size(axis) == sample.axis.size;
    };
    if (sample.axis.result && !has(output_, *sample.axis.result)) return false;
    return std::ranges::all_of(sample.axis.arguments, [&](const TensorAxis::Place& place) {
      return gradients_[place.tensor] == nullptr || has(*gradients_[place.tensor], place.axis);
    });
  }

  // The device's gradients with respect to the arguments that have the index, in the form of an evaluation's.
  List device_gradients(const AxisSample& sample) const {
    List list(gradients_.size(), Value(None{}));
    for (const auto& [tensor, axis] : sample.axis.arguments) {
      if (gradients_[tensor] != nullptr) list[tensor] = at_places(*gradients_[tensor], axis, sample.places);
    }
    return list;
  }

  // For each row of a comparison of gradients the number of its tensor; nothing where the row is of none.
  std::vector<std::optional<std::size_t>> tensors_of_rows(const MaterialisedCall& call,
                                                          const std::function<bool(std::size_t)>& is_there) const {
    List numbers(gradients_.size(), Value(None{}));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (is_there(i)) numbers[i] = static_cast<std::int64_t>(i);
    }
    std::vector<std::optional<std::size_t>> tensors;
    for (const Value& number : input_.options.dialect->compared_gradients(call, numbers, false)) {
      const std::int64_t* tensor = number.get<std::int64_t>();
      tensors.push_back(tensor == nullptr ? std::nullopt : std::optional(static_cast<std::size_t>(*tensor)));
    }
    return tensors;
  }

  // Whether a comparison at some places is that of a sound device, by more than the limits of a whole result.
  bool is_sound(const Comparison& comparison, const SumStatistics& sums) const {
    for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
      const DetailsRow& row = comparison.rows[i];
      const auto& [bench, device] = comparison.pairs[i];
      if (!device.defined()) continue;
      if (row.status == Status::skip || is_suspicious(row) || row.trust.weak_evidence != WeakEvidence::none)
        return false;
      // Twice as strict, because chance may have drawn fewer of those elements than there are.
      ErrorBudget budget;
      budget.longest = sums.longest;
      budget.chain = sums.chain;
      budget.nearest = true;
      if (input_.op.traits().rounds_once &&
          2 * fit_rounding(bench, device, budget).misrounded > tolerated_misrounded(device.numel())) {
        return false;
      }
    }
    return true;
  }

  void note_places(Evidence& evidence, const AxisSample& sample) const {
    evidence.drawn.push_back(std::to_string(sample.places.size()) + " of " + std::to_string(sample.axis.size));
    evidence.outside *= 1 - static_cast<double>(sample.places.size()) /
                                static_cast<double>(std::max<std::int64_t>(sample.axis.size, 1));
  }

  bool agrees(const AxisSample& sample, const std::vector<Tensor>& sums_of_inputs) {
    const MaterialisedCall places = at_places(input_.call, sample);
    const MaterialisedCall sums = with_sums(input_.call, sample, sums_of_inputs);
    const RaisePlan plan = plan_raise(input_.call, input_.op.traits());
    const bool as_benchmark =
        plan.one_by_one.empty() && !plan.keeps_float32 && plan.raised == dtype_of_sums(input_.call);
    if (!as_benchmark && !places_agree(sample, places, evaluate(input_.op, places, options_))) return false;
    const Evaluation all = evaluate(input_.op, sums, options_);
    const auto drawn = static_cast<std::int64_t>(sample.places.size());
    if (as_benchmark && !places_agree(sample, places, part_of(all, sample, sample.sums.count, drawn))) return false;
    return sums_agree(sample, sums, part_of(all, sample, 0, sample.sums.count));
  }

  // The rows or columns at the drawn places, judged as a call of their own.
  bool places_agree(const AxisSample& sample, const MaterialisedCall& call, const Evaluation& bench) {
    const Dialect& dialect = *input_.options.dialect;
    const ComparedCall compared{input_.op, call, input_.options.compare, false};
    CallCase call_case(input_.op, call, bench, options_, input_.arithmetic);
    if (sample.axis.result) {
      const Tensor device = at_places(output_, *sample.axis.result, sample.places);
      Comparison forward = dialect.compare_outputs(compared, bench.output, device);
      judge(
          call_case, forward, bench.output_sums,
          [](const Evaluation& evaluation) { return leaves({evaluation.output}); }, false);
      if (forward.rows.size() != 1 || !is_sound(forward, bench.output_sums)) return false;
      take(of_output_, std::move(forward.rows.front()), device, output_);
      note_places(of_output_, sample);
    }
    if (!call.backward.run) return true;
    if (!bench.backward_problem.empty()) return false;
    const List device = device_gradients(sample);
    std::optional<Comparison> backward =
        dialect.compare_gradients(compared, dialect.compared_gradients(call, bench.gradients, false),
                                  dialect.compared_gradients(call, device, false));
    if (!backward) return false;
    backward->of_gradients = true;
    judge(
        call_case, *backward, bench.gradient_sums,
        [&](const Evaluation& evaluation) {
          return leaves(dialect.compared_gradients(call, evaluation.gradients, false));
        },
        false);
    const auto tensors = tensors_of_rows(call, [&](std::size_t i) { return device[i].is<Tensor>(); });
    if (tensors.size() != backward->rows.size() || !is_sound(*backward, bench.gradient_sums)) return false;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i]) continue;
      Evidence& evidence = of_gradients_[*tensors[i]];
      take(evidence, std::move(backward->rows[i]), *device[*tensors[i]].get<Tensor>(), *gradients_[*tensors[i]]);
      note_places(evidence, sample);
    }
    return true;
  }

  // Everything else, through random sums.
  bool sums_agree(const AxisSample& sample, const MaterialisedCall& call, const Evaluation& bench) {
    const Tensor* output = bench.output.get<Tensor>();
    if (sample.sums_result()) {
      const std::int64_t axis = *sample.axis.result;
      if (output == nullptr ||
          !sums_agree(*output, output_, axis, summed_output_.along(axis), bench.output_sums.longest, of_output_)) {
        return false;
      }
    }
    if (!call.backward.run) return true;
    if (!bench.backward_problem.empty()) return false;
    for (const auto& [tensor, axis] : sample.axis.arguments) {
      if (gradients_[tensor] == nullptr) continue;
      const Tensor* gradient = bench.gradients[tensor].get<Tensor>();
      if (gradient == nullptr ||
          !sums_agree(*gradient, *gradients_[tensor], axis, summed_gradients_[tensor].along(axis),
                      bench.gradient_sums.longest, of_gradients_[tensor])) {
        return false;
      }
    }
    return true;
  }

  // The errors of rounding in a sum over many elements are normal, and so is their sum: those of storing each, to
  // nearest in all its steps, and those of the longest sum behind each, in float32.
  bool sums_agree(const Tensor& bench, const Tensor& device, std::int64_t axis, const ResultSums& of_device,
                  std::int64_t longest, Evidence& evidence) const {
    if (bench.shape() != of_device.sums.shape()) return false;
    const Tensor exact = bench.to(DType::float64).contiguous();
    const double roundings = input_.op.traits().rounds_once ? 1 : 2;
    const double storing = storing_slack * roundings / 12;
    const double unit = accumulator_roundoff(DType::float32);
    const double summing = unit * unit * static_cast<double>(std::max<std::int64_t>(longest, 1));
    const std::int64_t count = exact.numel();
    SquaredErrors of_groups(exact.shape(), axis);
    double variances = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double variance =
          storing * of_device.places.data<double>()[i] + summing * of_device.squares.data<double>()[i];
      const double error = of_device.sums.data<double>()[i] - exact.data<double>()[i];
      // NaN, too, is not within.
      if (!(std::abs(error) <= most_deviations * std::sqrt(variance))) return false;
      if (variance > 0) of_groups.add(i, error * error / variance);
      variances += variance;
      squares += of_device.squares.data<double>()[i];
    }
    if (of_groups.any_beyond()) return false;
    const double deviation = std::sqrt(variances / static_cast<double>(std::max<std::int64_t>(count, 1)));
    evidence.limits.push_back({most_deviations * deviation, deviation});
    evidence.typical = std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(device.numel(), 1)));
    evidence.sums += count;
    return true;
  }

  std::optional<SampledResult> result() {
    SampledResult all;
    if (!of_output_.has_row) return std::nullopt;
    all.forward_rows.push_back(finished(of_output_));
    all.forward = worst(all.forward_rows);
    if (!input_.call.backward.run) return all;
    const MaterialisedCall& call = input_.call;
    const auto tensors = tensors_of_rows(call, [&](std::size_t i) { return gradients_[i] != nullptr; });
    std::size_t positional = 0;
    for (const Value& leaf : leaves(call.args)) positional += leaf.is<Tensor>() ? 1 : 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i]) {
        const auto none = input_.options.dialect->compare_gradients({input_.op, call, input_.options.compare, false},
                                                                    {None{}}, {None{}});
        if (none) all.backward_rows.insert(all.backward_rows.end(), none->rows.begin(), none->rows.end());
        continue;
      }
      if (!of_gradients_[*tensors[i]].has_row) return std::nullopt;
      all.backward_rows.push_back(finished(of_gradients_[*tensors[i]]));
      if (i >= positional) {
        add_line(all.backward_rows.back(), "Gradient of a keyword argument, which msProbe does not compare.");
      }
    }
    all.backward = worst(all.backward_rows);
    return all;
  }

  static EvaluationOptions benchmark_options() {
    EvaluationOptions options;
    options.benchmark = true;
    return options;
  }

  const SampledInput& input_;
  const EvaluationOptions options_ = benchmark_options();
  const Tensor& output_;
  std::vector<const Tensor*> gradients_;
  std::vector<AxisSample> samples_;
  SummedResult summed_output_;
  std::vector<SummedResult> summed_gradients_;  // by the number of the tensor, as gradients_
  Evidence of_output_;
  std::vector<Evidence> of_gradients_;  // by the number of the tensor
};

// Whether the call has dtypes that the benchmark raises, and results that are those of its arguments.
bool is_candidate(const SampledInput& input) {
  const MaterialisedCall& call = input.call;
  const auto& work = input.op.traits().multiply_adds;
  if (work == nullptr || work(input.recorded.args) < *input.options.sampled_work) return false;
  if (call.recorded || !call.backward.message.empty() || !input.device.backward_problem.empty()) return false;
  if (input.device.output.get<Tensor>() == nullptr || !can_be_sampled(input.device.output.get<Tensor>()->dtype())) {
    return false;
  }
  bool fits = true;
  for_each_input(call, [&](const Tensor& tensor) { fits = fits && can_be_sampled(tensor.dtype()); });
  return fits && call.gradients.size() <= 1;
}

}  // namespace

double chance_to_miss(double error, double limit, double deviation) {
  if (!(deviation > 0)) return std::abs(error) <= limit ? 1 : 0;
  const auto below = [&](double value) { return std::erfc(-value / std::sqrt(2.0)) / 2; };
  return below((limit - error) / deviation) - below((-limit - error) / deviation);
}

std::optional<SampledResult> check_sampled(const SampledInput& input) {
  if (!input.options.sampled_work || !is_candidate(input)) return std::nullopt;
  try {
    return SampledCheck(input).run();
  } catch (const SkipError&) {
    // Whoever computes all of it says why it cannot be.
    return std::nullopt;
  }
}

}  // namespace msrun
