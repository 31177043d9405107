// Connectionist temporal classification: the negative log probability of a target over all its alignments with the
// input, by the forward-backward recursion over the target with blanks in between (api_inventory.md 3, loss).
#include <cmath>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/roughness.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/loss/loss.h"

namespace msrun {
namespace {

struct Sample {
  std::int64_t time = 0;               // steps of the input
  std::vector<std::int64_t> extended;  // blank, t1, blank, t2 ... blank
  std::int64_t target_length() const { return static_cast<std::int64_t>(extended.size() / 2); }
};

struct Problem {
  Tensor log_probs;  // [time, samples, classes], row-major in the compute dtype
  std::vector<Sample> samples;
  bool zero_infinity = false;

  std::int64_t classes() const { return log_probs.size(2); }
  template <class T>
  const T* row(std::int64_t time, std::size_t sample) const {
    return log_probs.data<T>() + (time * log_probs.size(1) + static_cast<std::int64_t>(sample)) * classes();
  }
};

template <class T>
constexpr T minus_infinity = -std::numeric_limits<T>::infinity();

template <class T>
T log_add(T a, T b) {
  const T high = std::max(a, b);
  if (high == minus_infinity<T>) return high;
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

// Whether an alignment may go from position s - 2 to s: the blank between two different labels can be left out.
bool may_skip(const Sample& sample, std::size_t s) {
  return s >= 2 && s % 2 == 1 && sample.extended[s] != sample.extended[s - 2];
}

// alpha[t][s]: log probability of all beginnings that are at position s at time t.
template <class T>
std::vector<T> forward_variables(const Problem& problem, std::size_t index) {
  const Sample& sample = problem.samples[index];
  const std::size_t positions = sample.extended.size();
  std::vector<T> alpha(static_cast<std::size_t>(sample.time) * positions, minus_infinity<T>);
  for (std::int64_t t = 0; t < sample.time; ++t) {
    const T* log_probs = problem.row<T>(t, index);
    T* now = alpha.data() + static_cast<std::size_t>(t) * positions;
    const T* before = now - (t > 0 ? positions : 0);
    for (std::size_t s = 0; s < positions; ++s) {
      T total = t == 0 ? (s < 2 ? T{0} : minus_infinity<T>) : before[s];
      if (t > 0 && s >= 1) total = log_add(total, before[s - 1]);
      if (t > 0 && may_skip(sample, s)) total = log_add(total, before[s - 2]);
      now[s] = total + log_probs[sample.extended[s]];
    }
  }
  return alpha;
}

template <class T>
T negative_log_likelihood(const Sample& sample, const std::vector<T>& alpha) {
  const std::size_t positions = sample.extended.size();
  if (sample.time == 0) return positions == 1 ? T{0} : -minus_infinity<T>;
  const T last = alpha.back();
  return -(positions == 1 ? last : log_add(last, alpha[alpha.size() - 2]));
}

// The gradient that torch defines: exp(log_probs) minus the share of alignments through each class, so that it is right
// behind a log_softmax, whose own gradient it contains.
//
// Where one class has nearly all alignments its share is that of logarithms which are off by a place, however large
// they are, and which meet in an order of the device's: `seed` moves them.
template <class T>
void backward_sample(const Problem& problem, std::size_t index, T upstream, std::uint32_t seed, T* result) {
  const Sample& sample = problem.samples[index];
  const std::vector<T> alpha = forward_variables<T>(problem, index);
  const T loss = negative_log_likelihood(sample, alpha);
  if (problem.zero_infinity && loss == -minus_infinity<T>) return;
  const std::size_t positions = sample.extended.size();
  const std::int64_t classes = problem.classes();
  const std::int64_t stride = problem.log_probs.size(1) * classes;
  std::vector<T> beta(positions, minus_infinity<T>);  // of the later time, without its own log_probs
  std::vector<T> next(positions);
  std::vector<T> share(static_cast<std::size_t>(classes));
  for (std::int64_t t = sample.time - 1; t >= 0; --t) {
    const T* log_probs = problem.row<T>(t, index);
    for (std::size_t s = 0; s < positions; ++s) {
      T total = t == sample.time - 1 ? (s + 2 >= positions ? T{0} : minus_infinity<T>) : beta[s];
      if (t < sample.time - 1 && s + 1 < positions) total = log_add(total, beta[s + 1]);
      if (t < sample.time - 1 && s + 2 < positions && may_skip(sample, s + 2)) total = log_add(total, beta[s + 2]);
      next[s] = total;
    }
    std::fill(share.begin(), share.end(), minus_infinity<T>);
    for (std::size_t s = 0; s < positions; ++s) {
      T& of_class = share[static_cast<std::size_t>(sample.extended[s])];
      of_class = log_add(of_class, rough_step(alpha[static_cast<std::size_t>(t) * positions + s] + next[s], seed));
      beta[s] = next[s] + log_probs[sample.extended[s]];
    }
    T* out = result + t * stride + static_cast<std::int64_t>(index) * classes;
    for (std::int64_t c = 0; c < classes; ++c) {
      const T logarithm = rough_step(share[static_cast<std::size_t>(c)], seed);
      out[c] = (std::exp(log_probs[c]) - std::exp(logarithm + loss)) * upstream;
    }
  }
}

std::vector<std::int64_t> lengths_of(const Bound& args, const char* name, std::size_t samples, std::int64_t limit) {
  std::vector<std::int64_t> lengths;
  if (const Var* tensor = args.value(name).get<Var>()) {
    if (is_floating(tensor->dtype())) throw SkipError(std::string("ctc_loss: ") + name + " must be integers.");
    const Tensor wide = tensor->tensor().to(DType::int64).contiguous();
    lengths.assign(wide.data<std::int64_t>(), wide.data<std::int64_t>() + wide.numel());
  } else if (const List* list = args.value(name).get<List>()) {
    for (const Value& item : *list) {
      const auto* length = item.get<std::int64_t>();
      if (length == nullptr) throw SkipError(std::string("ctc_loss: ") + name + " must be integers.");
      lengths.push_back(*length);
    }
  } else {
    lengths.push_back(args.integer(name));
  }
  if (lengths.size() != samples)
    throw SkipError(std::string("ctc_loss: ") + name + " must have a length for each of the " +
                    std::to_string(samples) + " samples.");
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > limit)
      throw SkipError(std::string("ctc_loss: ") + name + " has a length of " + std::to_string(length) +
                      ", expected 0 to " + std::to_string(limit) + ".");
  }
  return lengths;
}

Problem make_problem(const Bound& args, const Tensor& log_probs, bool batched) {
  Problem problem;
  problem.log_probs = to_compute(batched ? log_probs : log_probs.unsqueeze(1));
  problem.zero_infinity = args.flag("zero_infinity");
  const auto samples = static_cast<std::size_t>(problem.log_probs.size(1));
  const Tensor targets = args.var("targets").tensor();
  if (is_floating(targets.dtype()) || targets.rank() < 1 || targets.rank() > 2 ||
      (targets.rank() == 2 && static_cast<std::size_t>(targets.size(0)) != samples)) {
    throw SkipError("ctc_loss: targets must be integers, concatenated or one row for each of the " +
                    std::to_string(samples) + " samples.");
  }
  const std::int64_t blank = args.integer("blank");
  if (blank < 0 || blank >= problem.classes()) throw SkipError("ctc_loss: blank must be in label range.");
  const auto times = lengths_of(args, "input_lengths", samples, problem.log_probs.size(0));
  const auto lengths = lengths_of(args, "target_lengths", samples, targets.size(-1));
  const Tensor labels = targets.to(DType::int64).contiguous();
  std::int64_t start = 0;
  for (std::size_t n = 0; n < samples; ++n) {
    if (targets.rank() == 2) start = static_cast<std::int64_t>(n) * targets.size(1);
    if (start + lengths[n] > labels.numel()) throw SkipError("ctc_loss: targets are shorter than target_lengths say.");
    Sample& sample = problem.samples.emplace_back();
    sample.time = times[n];
    sample.extended.push_back(blank);
    for (std::int64_t i = start; i < start + lengths[n]; ++i) {
      const std::int64_t label = labels.data<std::int64_t>()[i];
      if (label < 0 || label >= problem.classes())
        throw SkipError("ctc_loss: label " + std::to_string(label) + " is out of range.");
      sample.extended.push_back(label);
      sample.extended.push_back(blank);
    }
    start += lengths[n];
  }
  return problem;
}

Var ctc_loss(const Bound& args) {
  const Var x = args.var("log_probs");
  if ((x.rank() != 2 && x.rank() != 3) || !is_floating(x.dtype())) {
    throw SkipError("ctc_loss expects log_probs of two or three dimensions.");
  }
  require_bounded(x.shape());
  const bool batched = x.rank() == 3;
  const Problem problem = make_problem(args, x.tensor(), batched);
  const Reduction reduction = reduction_of(args, false);
  if (reduction == Reduction::batchmean) throw SkipError("batchmean is not a valid value for reduction");
  const auto samples = problem.samples.size();
  const Dims shape = reduction == Reduction::none && batched ? Dims{static_cast<std::int64_t>(samples)} : Dims{};
  // What the loss of a sample is multiplied by.
  std::vector<double> factors(samples, 1);
  for (std::size_t n = 0; reduction == Reduction::mean && n < samples; ++n) {
    const auto length = static_cast<double>(std::max<std::int64_t>(problem.samples[n].target_length(), 1));
    factors[n] = 1 / (length * static_cast<double>(samples));
  }
  // Each step in time adds up three probabilities for every position.
  for (const Sample& sample : problem.samples) x.context().note_sums(3 * sample.time, std::ssize(sample.extended));
  Tensor result(problem.log_probs.dtype(), shape);
  visit_compute(problem.log_probs.dtype(), [&](auto element) {
    using T = decltype(element);
    T* out = result.mutable_data<T>();
    T total = 0;
    for (std::size_t n = 0; n < samples; ++n) {
      T loss = negative_log_likelihood(problem.samples[n], forward_variables<T>(problem, n));
      if (problem.zero_infinity && std::isinf(loss)) loss = 0;
      if (reduction == Reduction::none) out[n] = loss;
      total += loss * static_cast<T>(factors[n]);
    }
    if (reduction != Reduction::none) out[0] = total;
  });
  return x.tape().record(
      result.to(x.dtype()),
      {{x, [=, &context = x.context(), x_shape = x.shape()](const Tensor& gradient) {
          const Tensor g =
              gradient.to(problem.log_probs.dtype()).expand(Dims{static_cast<std::int64_t>(samples)}).contiguous();
          // The beginnings and the ends of all alignments, and the loss, are each a chain of sums over time.
          for (const Sample& sample : problem.samples) context.note_sums(9 * sample.time, std::ssize(sample.extended));
          Tensor all = Tensor::zeros(g.dtype(), problem.log_probs.shape());
          visit_compute(g.dtype(), [&](auto element) {
            using T = decltype(element);
            for (std::size_t n = 0; n < samples; ++n) {
              backward_sample<T>(problem, n, g.data<T>()[n] * static_cast<T>(factors[n]), context.jitter_seed,
                                 all.mutable_data<T>());
            }
          });
          return all.reshape(x_shape);
        }}});
}

}  // namespace

OP("ctc_loss(Tensor log_probs, Tensor targets, any input_lengths, any target_lengths, int blank=0, any "
   "reduction='mean', "
   "bool zero_infinity=False)",
   [](const Bound& args) -> Value { return ctc_loss(args); });
NAMES("ctc_loss", "Functional: ctc_loss; Aten: ctc_loss");
TRY_FIRST("ctc_loss", Trial::of_values);
TRAITS("ctc_loss", .varies = Varies::gradients, .recorded_gradients = RecordedGradients::of_last_step);

OP("torch_ctc_loss(Tensor log_probs, Tensor targets, any input_lengths, any target_lengths, int blank=0, "
   "int reduction=0, bool zero_infinity=False)",
   [](const Bound& args) -> Value { return ctc_loss(args); });
NAMES("torch_ctc_loss", "Torch: ctc_loss");
TRY_FIRST("torch_ctc_loss", Trial::of_values);
TRAITS("torch_ctc_loss", .varies = Varies::gradients, .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace msrun
