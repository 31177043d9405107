#include "runner/judge/variations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/compare/bounds/varied_numbers.h"
#include "kernels/numeric/stored_products.h"
#include "kernels/tensor/changed_elements.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/random.h"

namespace msrun {
namespace {

// Up to these a call may be computed any number of times.
constexpr double cheap_additions = 1e4;
constexpr double cheap_elements = 1e3;

// Numbers at which functions may have kinks: those that a call names, or gives as a tensor of one element beside larger
// ones, as its tensors have them. An element that is one of them, or the negative, has the slope that the function has
// there; a little more or less may have another.
class Kinks {
 public:
  explicit Kinks(const MaterialisedCall& call) {
    std::int64_t largest = 0;
    for_each_argument(call, [&](const Tensor& tensor) { largest = std::max(largest, tensor.numel()); });
    const auto note = [&](const Value& leaf) {
      const auto* tensor = leaf.get<Tensor>();
      if (tensor != nullptr && tensor->numel() == 1 && largest > 1 && is_floating(tensor->dtype())) add(tensor->item());
      if (const auto* real = leaf.get<double>()) add(*real);
      if (const auto* integer = leaf.get<std::int64_t>()) add(static_cast<double>(*integer));
    };
    for (const Value& value : call.args) for_each_leaf(value, note);
    for (const auto& [name, value] : call.kwargs) for_each_leaf(value, note);
  }

  const std::vector<double>& sizes() const { return sizes_; }

 private:
  static constexpr std::size_t most = 16;

  void add(double number) {
    for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
      const double size = std::abs(Tensor::scalar(dtype, number).item());
      const bool is_known = std::ranges::find(sizes_, size) != sizes_.end();
      if (sizes_.size() < most && std::isfinite(size) && !may_be_flag(size) && !is_known) sizes_.push_back(size);
    }
  }

  std::vector<double> sizes_;
};

// Random words are drawn so many at a time.
constexpr std::size_t words_at_once = 64;

// Every element times 1 + change or 1 - change, by the bits of the words from the lowest on, or the other way round.
Tensor change_signs(const Tensor& tensor, double change, const Kinks& kinks, RandomWords& source, bool opposite) {
  const std::array<double, 2> factors{opposite ? 1 + change : 1 - change, opposite ? 1 - change : 1 + change};
  std::array<std::uint32_t, words_at_once> words{};
  return changed_blocks(tensor, [&](double* values, std::int64_t count, std::int64_t first) {
    constexpr std::int64_t bits_of_word = 32;
    const std::size_t at = static_cast<std::size_t>(first / bits_of_word) % words.size();
    if (at == 0) source.fill(words);
    move_by_signs({values, static_cast<std::size_t>(count)}, words.data() + at, factors, kinks.sizes());
  });
}

// Every element further up, or further down, by that share of its magnitude: their order stays, and so do ties. An
// infinity stays where it is: one that moves towards the others would be NaN.
Tensor change_in_order(const Tensor& tensor, double change, bool up) {
  return changed_elements(tensor, [&](double value, std::int64_t) {
    return std::isfinite(value) ? value + (up ? change : -change) * std::abs(value) : value;
  });
}

// Every element times one factor: the order of magnitudes and of differences stays, too.
Tensor change_in_proportion(const Tensor& tensor, double change, bool up) {
  return changed_elements(
      tensor, [factor = up ? 1 + change : 1 - change](double value, std::int64_t) { return factor * value; });
}

// Elements of a changed tensor that were what an earlier one has at their places are changed as those were. Equal
// numbers meet exactly wherever they are subtracted or compared, on every device: apart from each other, they would
// show the result of other numbers.
class Changes {
 public:
  Tensor keep(const Tensor& original, Tensor changed) {
    for (const auto& [other, of_other] : known_) {
      if (other.shape() == original.shape() && other.dtype() == original.dtype())
        changed = as_in(original, other, of_other, changed);
    }
    known_.emplace_back(original, changed);
    return changed;
  }

 private:
  static Tensor as_in(const Tensor& original, const Tensor& other, const Tensor& of_other, const Tensor& changed) {
    const Tensor a = original.to(DType::float64).contiguous();
    const Tensor b = other.to(DType::float64).contiguous();
    const auto are_equal = [x = a.data<double>(), y = b.data<double>()](std::int64_t i) {
      return x[i] == y[i] && !may_be_flag(x[i]);
    };
    bool any = false;
    for (std::int64_t i = 0; i < a.numel() && !any; ++i) any = are_equal(i);
    if (!any) return changed;
    const Tensor values = of_other.to(DType::float64).contiguous();
    const auto* value = values.data<double>();
    return changed_elements(changed, [&](double own, std::int64_t i) { return are_equal(i) ? value[i] : own; });
  }

  std::vector<std::pair<Tensor, Tensor>> known_;
};

// Every element some places up or down. Narrow dtypes have few numbers, so that one place is a large change; in wide
// ones the changes are large enough for errors of rounding to be independent of each other.
//
// By shares of magnitudes, if they have a key, equal ones move alike: where elements of one row are equal, what is left
// of their difference is rounding alone, and far smaller than any other. Otherwise each moves by a word of its own.
Tensor move_nearby(const Tensor& tensor, RandomWords& source, std::optional<std::uint64_t> key_of_magnitudes) {
  const DType dtype = tensor.dtype();
  const double change = is_half(dtype) ? 0x1p-6 : is_float8(dtype) ? 0x1p-2 : 0x1p-10;
  std::vector<std::uint32_t> words;
  std::vector<double> shares;
  return changed_blocks(tensor, [&](double* data, std::int64_t count, std::int64_t) {
    const std::span values(data, static_cast<std::size_t>(count));
    shares.resize(values.size());
    if (key_of_magnitudes) {
      shares_of_magnitudes(values, *key_of_magnitudes, shares.data());
    } else {
      words.resize((values.size() + words_at_once - 1) / words_at_once * words_at_once);
      source.fill(words);
      for (std::size_t i = 0; i < values.size(); ++i) shares[i] = static_cast<double>(words[i]) * 0x1p-31 - 1;
    }
    move_by_shares(values, change, shares.data());
  });
}

// The call with other dtypes among its arguments: change gives each of them.
template <class F>
MaterialisedCall with_dtypes(MaterialisedCall call, const F& change) {
  const auto changed = [&](const Value& leaf) -> Value {
    const DType* dtype = leaf.get<DType>();
    return dtype != nullptr ? Value(change(*dtype)) : leaf;
  };
  for (Value& value : call.args) value = transform_leaves(value, changed);
  for (auto& [key, value] : call.kwargs) value = transform_leaves(value, changed);
  return call;
}

// Whether all floating tensors of a call are of half types, for which those of float32 may stand. What the call names
// in a wider dtype is then wider than these, too.
bool is_of_half_types(const MaterialisedCall& call) {
  bool any = false;
  bool others = false;
  for_each_argument(call, [&](const Tensor& tensor) {
    any = any || is_half(tensor.dtype());
    others = others || (is_floating(tensor.dtype()) && !is_half(tensor.dtype()));
  });
  return any && !others;
}

// A call of float32 tensors, which stand for those of other dtypes: what it names in a half type is computed in higher
// precision.
MaterialisedCall without_half_types(MaterialisedCall call, bool stands_for_half) {
  return with_dtypes(std::move(call), [=](DType dtype) {
    const bool is_wider = stands_for_half && dtype == DType::float32;
    return is_half(dtype) || is_wider ? DType::float64 : dtype;
  });
}

// A call of float32 tensors that stays one, but for what is wider than the half types that they stand for.
MaterialisedCall kept_in_float32(MaterialisedCall call, bool stands_for_half) {
  call.autocast = false;
  return with_dtypes(std::move(call), [=](DType dtype) {
    if (is_half(dtype)) return DType::float32;
    if (stands_for_half && is_floating(dtype)) return DType::float64;
    return dtype == DType::float64 ? DType::float32 : dtype == DType::complex128 ? DType::complex64 : dtype;
  });
}

}  // namespace

double floating_elements(const MaterialisedCall& call) {
  double total = 0;
  for_each_input(call, [&](const Tensor& tensor) {
    if (is_floating(tensor.dtype())) total += static_cast<double>(tensor.numel());
    if (is_complex(tensor.dtype())) total += 2 * static_cast<double>(tensor.numel());
  });
  return total;
}

bool has_complex_argument(const MaterialisedCall& call) {
  bool found = false;
  for_each_argument(call, [&](const Tensor& tensor) { found = found || is_complex(tensor.dtype()); });
  return found;
}

Variations::Variations(const Operator& op, const MaterialisedCall& call, const Evaluation& bench,
                       const EvaluationOptions& benchmark_options)
    : op_(op), call_(call), bench_(bench), benchmark_options_(benchmark_options) {
  for_each_leaf(bench.output, [&](const Value& leaf) {
    const auto* tensor = leaf.get<Tensor>();
    has_wide_results_ = has_wide_results_ || (tensor != nullptr && tensor->dtype() == DType::float64);
  });
}

double Variations::change_of(DType raised) const {
  return has_wide_results_ || raised == DType::float64 ? 0x1p-20 : 0x1p-10;
}

bool Variations::is_cheap() const { return additions() <= cheap_additions && elements() <= cheap_elements; }

double Variations::elements() const { return floating_elements(call_); }

double Variations::additions() const { return std::max(bench_.output_sums.additions, bench_.gradient_sums.additions); }

bool Variations::is_within(const CostLimit& limit) const {
  return additions() <= limit.additions && elements() <= limit.elements;
}

bool Variations::has_room_for_samples() const { return elements() <= CostLimit::many.elements; }

const std::vector<Evaluation>& Variations::changed_benchmarks(std::size_t samples, const CostLimit& limit) {
  if (!is_within(limit) || unchangeable_) return changed_;
  const Kinks kinks(call_);
  try {
    while (changed_.size() < samples) {
      // Two and two samples have the same random signs, but those of every second argument, or every second pair of
      // arguments, turned: terms of two arguments that cancel cannot change alike in both.
      const std::size_t sample = changed_.size();
      Philox words(random_key(0, call_.name, "spread." + std::to_string(sample / 2)));
      std::size_t argument = 0;
      Changes changes;
      EvaluationOptions options = benchmark_options_;
      options.change_input = [&](const Tensor& tensor) {
        const bool turned = sample % 2 == 1 && (argument >> (sample / 2 % 2) & 1U) != 0;
        ++argument;
        return changes.keep(tensor, change_signs(tensor, change_of(tensor.dtype()), kinks, words, turned));
      };
      const bool up = sample % 2 == 0;
      if (op_.traits().ranks_all_with(call_.args, call_.kwargs)) {
        options.change_argument = [&, up](const Tensor& tensor, std::size_t) {
          return change_in_proportion(tensor, change_of(tensor.dtype()), up);
        };
      } else if (op_.traits().ranks_with(call_.args, call_.kwargs)) {
        options.change_argument = [&, up](const Tensor& tensor, std::size_t number) {
          return number == 0 ? changes.keep(tensor, change_in_order(tensor, change_of(tensor.dtype()), up))
                             : options.change_input(tensor);
        };
      }
      changed_.push_back(evaluate(op_, call_, options));
    }
  } catch (const SkipError&) {
    // The changed inputs are outside of what the operator takes.
    unchangeable_ = true;
    changed_.clear();
  }
  return changed_;
}

const Variations::SquaredTerms* Variations::squared_terms(const CostLimit& limit) {
  if (squared_terms_) return &*squared_terms_;
  const OperatorTraits& traits = op_.traits();
  if (!traits.rounds_once || traits.divides_sums || !is_within(limit) || unchangeable_) return nullptr;
  EvaluationOptions options = benchmark_options_;
  bool has_flags = false;
  // Squares of float32 numbers need the range of float64.
  options.change_input = [&](const Tensor& tensor) {
    return changed_elements(tensor.to(DType::float64), [&](double value, std::int64_t) {
      has_flags = has_flags || (value != 0 && may_be_flag(value));
      return value * value;
    });
  };
  try {
    SquaredTerms terms{evaluate(op_, call_, options), std::nullopt};
    if (has_flags) {
      options.change_input = [](const Tensor& tensor) {
        return changed_elements(tensor.to(DType::float64),
                                [](double value, std::int64_t) { return may_be_flag(value) ? value * value : 0; });
      };
      terms.of_flags = evaluate(op_, call_, options);
    }
    squared_terms_ = std::move(terms);
  } catch (const SkipError&) {
    return nullptr;
  }
  return &*squared_terms_;
}

const Variations::Substituted* Variations::substituted(bool of_gradients) {
  std::optional<Substituted>& known = substituted_[of_gradients ? 1 : 0];
  if (known) return &*known;
  if (!is_small() || unchangeable_) return nullptr;
  const auto evaluated = [&](double (*change)(double)) {
    EvaluationOptions options = benchmark_options_;
    options.change_input = [change](const Tensor& tensor) {
      return changed_elements(tensor.to(DType::float64),
                              [change](double value, std::int64_t) { return change(value); });
    };
    if (of_gradients) options.change_argument = [](const Tensor& tensor, std::size_t) { return tensor; };
    return evaluate(op_, call_, options);
  };
  try {
    known = Substituted{evaluated(substitute), evaluated([](double) { return 1.0; }),
                        evaluated([](double value) { return std::abs(value); })};
  } catch (const SkipError&) {
    return nullptr;
  }
  return &*known;
}

std::optional<StepSides> Variations::sides_of_steps(const Tensor& bench, const Tensor& device, const RowOf& row,
                                                    Steps steps, bool stores_positions) const {
  // An alternative takes one more computation, whatever the size, and few calls have one.
  if (!is_small()) {
    if (!bench_.notes.has_alternative) return std::nullopt;
    return nearest_alternatives(op_, call_, benchmark_options_, bench, device, row);
  }
  std::optional<StepSides> sides = nearest_sides(op_, call_, benchmark_options_, bench, device, row, steps);
  const auto take = [&](auto nearest) {
    std::optional<StepSides> more =
        nearest(op_, call_, benchmark_options_, sides ? sides->bench.to(bench.dtype()) : bench, device, row);
    if (!more) return;
    if (sides) {
      more->exchanged += sides->exchanged;
      more->alternatives += sides->alternatives;
      more->spread = std::move(sides->spread);
    }
    sides = std::move(more);
  };
  // A number that a half type rounds may be where a kink is, and a position on the other side of an element.
  if (bench_.notes.takes_parameters) take(nearest_parameters);
  if (bench_.notes.takes_positions && stores_positions) take(nearest_positions);
  if (bench_.notes.has_alternative) take(nearest_alternatives);
  return sides;
}

const Evaluation* Variations::with(const Arithmetic& arithmetic, const CostLimit& limit) {
  if (!is_within(limit)) return nullptr;
  auto known = std::ranges::find(variants_, arithmetic, [](const auto& variant) { return variant.first; });
  if (known == variants_.end()) known = variants_.insert(known, {arithmetic, computed_with(arithmetic)});
  return known->second ? &*known->second : nullptr;
}

const std::vector<Evaluation>& Variations::with_stored_steps(const CostLimit& limit) {
  if (!is_within(limit) || std::exchange(has_tried_stored_steps_, true)) return stored_steps_;
  for (std::uint8_t order = 0; order < score_steps; ++order) {
    std::optional<Evaluation> evaluation = computed_with({}, {true, static_cast<ScoreSteps>(order)});
    if (!evaluation) continue;
    stored_steps_.push_back(std::move(*evaluation));
    if (!stored_steps_.back().notes.has_scores) break;
  }
  return stored_steps_;
}

std::optional<Evaluation> Variations::computed_with(const Arithmetic& arithmetic, const StoredSteps& steps) const {
  EvaluationOptions options;
  options.only_output = benchmark_options_.only_output;
  options.adjust_gradients = benchmark_options_.adjust_gradients;
  options.last_step = benchmark_options_.last_step;
  options.arithmetic = arithmetic;
  options.steps = steps;
  try {
    return evaluate(op_, call_, options);
  } catch (const SkipError&) {
    return std::nullopt;  // There is no such variant.
  }
}

const Evaluation* Variations::known_bench(const Perturbation& how, std::size_t sample) const {
  bool has_float64 = false;
  for_each_input(call_, [&](const Tensor& tensor) {
    has_float64 = has_float64 || tensor.dtype() == DType::float64 || tensor.dtype() == DType::complex128;
  });
  const auto has = [&](const PerturbedResults& known) {
    const bool moves_alike = how.in_float32 || known.how.rough == how.rough || !has_float64;
    return known.how.in_float32 == how.in_float32 && moves_alike && sample < known.results.size();
  };
  const auto found = std::ranges::find_if(nearby_, has);
  return found == nearby_.end() ? nullptr : &found->results[sample].bench;
}

const std::vector<Variations::Nearby>& Variations::nearby(const Perturbation& how, std::size_t samples,
                                                          const CostLimit& limit) {
  auto known = std::ranges::find(nearby_, how, &PerturbedResults::how);
  if (known == nearby_.end()) known = nearby_.insert(known, PerturbedResults{.how = how, .results = {}});
  std::vector<Nearby>& results = known->results;
  if (!is_within(limit) || known->refused) return results;
  try {
    while (results.size() < samples) {
      const auto sample = static_cast<std::uint32_t>(results.size());
      Philox words(random_key(0, call_.name, "nearby." + std::to_string(sample)));
      std::optional<std::uint64_t> key_of_magnitudes;
      if (sample % 2 == 1) {
        std::array<std::uint32_t, 2> halves{};
        words.fill(halves);
        key_of_magnitudes = std::uint64_t{halves[0]} << 32 | halves[1];
      }
      MaterialisedCall call = with_inputs(call_, [&](const Tensor& tensor) {
        if (!is_floating_or_complex(tensor.dtype())) return tensor;
        return number_by_number(tensor, [&](const Tensor& numbers) {
          // Of float64, whose benchmark is computed in the same arithmetic, all noise is that of rough functions, whose
          // errors each sample draws anew: its numbers may stay where they are, however near to the end of a domain.
          if (how.rough && !how.in_float32 && numbers.dtype() == DType::float64) return numbers;
          return move_nearby(how.in_float32 ? numbers.to(DType::float32) : numbers, words, key_of_magnitudes);
        });
      });
      // float32 stands for another dtype: no operand is rounded to HF32, and no benchmark left in float32.
      if (how.in_float32) call.hf32 = false;
      const bool stands_for_half = how.in_float32 && is_of_half_types(call_);
      EvaluationOptions options;
      options.only_output = benchmark_options_.only_output;
      options.adjust_gradients = benchmark_options_.adjust_gradients;
      options.last_step = benchmark_options_.last_step;
      options.benchmark = true;
      options.forgets_dtypes = benchmark_options_.forgets_dtypes;
      const Evaluation* same = known_bench(how, results.size());
      Evaluation bench =
          same != nullptr ? *same
                          : evaluate(op_, how.in_float32 ? without_half_types(call, stands_for_half) : call, options);
      options.benchmark = false;
      options.arithmetic = how.arithmetic;
      options.jitter_seed = how.rough ? static_cast<std::uint32_t>(results.size() + 1) : 0;
      options.steps.are_stored = how.composed;
      if (how.stored) options.stored_products = StoredProducts{how.smallest};
      Evaluation rounded = evaluate(op_, how.in_float32 ? kept_in_float32(call, stands_for_half) : call, options);
      const bool has_products = rounded.notes.has_products;
      const bool adds_products = rounded.notes.adds_products;
      results.push_back({std::move(bench), std::move(rounded), has_products, adds_products});
    }
  } catch (const SkipError&) {
    known->refused = true;
    results.clear();
  }
  return results;
}

}  // namespace msrun
