#include "runner/judge/call_part.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/tensor/changed_elements.h"
#include "runner/judge/axis_samples.h"
#include "runner/judge/variations.h"

namespace msrun {
namespace {

// Floating input elements of a part, and additions behind its results, at most: a fraction of what is still computed
// again as a whole, because each trial of an axis costs as much.
constexpr double most_elements = 0x1p18;
constexpr double most_additions = 3e7;
// So many times as much where arguments are shared by all places, or the axis is coarse.
constexpr double most_times = 4;
// Of one head of one sample, which nothing smaller stands for, as many additions as are still computed a few times.
constexpr double most_additions_of_a_head = 3e9;

// Which tensors are at the places, and how gradients of the outputs follow.
struct Cut {
  bool lower_ranks = false;  // those of fewer axes, too, whose first is the axis
  bool vectors = false;      // those of one axis, as the parameters of each channel are
  int halvings = 0;          // gradients of single numbers, which are means over the axis
};

// By index of an axis what is looked for there.
struct PlacesByIndex {
  // The largest share that an element there has of what is explained; 0 where all are.
  std::vector<float> worst;
  // The largest difference of the device's elements from the benchmark's.
  std::vector<float> errors;
  // So many times as large as the second largest it is, where an element is beyond what is explained: of noise there
  // are many of like size.
  std::vector<float> prominence;
};

// By index of the axis the largest share that an element there has of what is explained; 0 where all are.
std::vector<float> worst_shares(const Tensor& bench, const RoundingFit& fit, std::int64_t axis) {
  std::int64_t inner = 1;
  for (std::int64_t i = axis + 1; i < bench.rank(); ++i) inner *= bench.size(i);
  const std::int64_t size = bench.size(axis);
  std::vector<float> worst(static_cast<std::size_t>(size));
  std::size_t number = 0;
  const auto note = [&](std::int64_t element, float share) {
    float& at = worst[static_cast<std::size_t>(element / inner % size)];
    at = std::max(at, share);
  };
  for (std::size_t i = 0; i < fit.is_beyond.size(); ++i) {
    if (fit.is_beyond[i]) note(static_cast<std::int64_t>(i), fit.shares_beyond[number++]);
  }
  for (std::size_t i = 0; i < fit.is_misrounded.size(); ++i) {
    if (fit.is_misrounded[i]) note(static_cast<std::int64_t>(i), 1);
  }
  return worst;
}

// Finds the largest errors of the device's elements, of which NaN counts as none, and how far they are above others.
void find_errors(PlacesByIndex& places, const Tensor& bench, const Tensor& device, std::int64_t axis) {
  std::vector<float>& largest = places.errors;
  largest.resize(static_cast<std::size_t>(bench.size(axis)));
  places.prominence.resize(largest.size());
  if (!device.defined() || device.shape() != bench.shape()) return;
  std::int64_t inner = 1;
  for (std::int64_t i = axis + 1; i < bench.rank(); ++i) inner *= bench.size(i);
  const Tensor exact = bench.to(DType::float64).contiguous();
  const Tensor actual = device.to(DType::float64).contiguous();
  std::vector<float> second(largest.size());
  for (std::int64_t i = 0; i < exact.numel(); ++i) {
    const auto place = static_cast<std::size_t>(i / inner % bench.size(axis));
    const auto error = static_cast<float>(std::abs(actual.data<double>()[i] - exact.data<double>()[i]));
    if (std::isnan(error)) continue;
    second[place] = std::max(second[place], std::min(largest[place], error));
    largest[place] = std::max(largest[place], error);
  }
  for (std::size_t i = 0; i < largest.size(); ++i) {
    if (places.worst[i] > 0 && std::isfinite(largest[i]) && second[i] > 0)
      places.prominence[i] = largest[i] / second[i];
  }
}

PlacesByIndex places_by_index(const Tensor& bench, const RoundingFit& fit, std::int64_t axis,
                              const Tensor& device = {}) {
  PlacesByIndex places;
  places.worst = worst_shares(bench, fit, axis);
  find_errors(places, bench, device, axis);
  return places;
}

// Adds the indices of so many of the largest numbers, of those that are not 0.
void add_largest(std::set<std::int64_t>& places, const std::vector<float>& numbers, std::int64_t count) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < std::ssize(numbers); ++i) {
    if (numbers[static_cast<std::size_t>(i)] > 0) found.push_back(i);
  }
  const std::int64_t shown = std::min<std::int64_t>(count, std::ssize(found));
  std::ranges::partial_sort(found, found.begin() + shown, [&](std::int64_t a, std::int64_t b) {
    return std::pair(-numbers[static_cast<std::size_t>(a)], a) < std::pair(-numbers[static_cast<std::size_t>(b)], b);
  });
  places.insert(found.begin(), found.begin() + shown);
}

// The indices of the axis that are worst by share, and as many evenly spread ones. Where most results are noise, one
// that is wrong is not among the worst by its share: half of the others are rather those with the largest errors, and a
// quarter of the worst those that have one element which the others there are nothing like.
std::vector<std::int64_t> places_of(const PlacesByIndex& by_index, std::int64_t count) {
  const auto size = static_cast<std::int64_t>(by_index.worst.size());
  std::set<std::int64_t> places;
  add_largest(places, by_index.worst, (count + 1) / 2 - count / 8);
  add_largest(places, by_index.prominence, count / 8);
  add_largest(places, by_index.errors, count / 4);
  const std::int64_t others = count - std::ssize(places);
  for (std::int64_t i = 0; i < others; ++i) places.insert(i * size / others);
  for (std::int64_t i = 0; std::ssize(places) < count; ++i) places.insert(i);
  return {places.begin(), places.end()};
}

// What a fit says of one place of the first axis.
RoundingFit fit_of_sample(const RoundingFit& fit, std::int64_t size, std::int64_t sample) {
  RoundingFit part;
  const auto first = static_cast<std::size_t>(sample * size);
  const auto last = static_cast<std::size_t>((sample + 1) * size);
  std::size_t number = 0;
  for (std::size_t i = 0; i < std::min(last, fit.is_beyond.size()); ++i) {
    if (i >= first) part.is_beyond.push_back(fit.is_beyond[i]);
    if (!fit.is_beyond[i]) continue;
    if (i >= first) part.shares_beyond.push_back(fit.shares_beyond[number]);
    ++number;
  }
  for (std::size_t i = first; i < std::min(last, fit.is_misrounded.size()); ++i)
    part.is_misrounded.push_back(fit.is_misrounded[i]);
  return part;
}

Tensor halved(const Tensor& tensor, int times) {
  return changed_elements(tensor, [times](double value, std::int64_t) { return std::ldexp(value, -times); });
}

MaterialisedCall cut_call(const MaterialisedCall& call, const Cut& cut, std::int64_t rank, std::int64_t size,
                          std::int64_t axis, const std::vector<std::int64_t>& places) {
  std::size_t arguments = 0;
  for_each_argument(call, [&](const Tensor&) { ++arguments; });
  std::size_t at = 0;
  MaterialisedCall part = with_inputs(call, [&](const Tensor& tensor) {
    const bool is_gradient = at++ >= arguments;
    if (is_gradient && tensor.numel() == 1 && cut.halvings > 0) return halved(tensor, cut.halvings);
    if (cut.vectors && tensor.rank() == 1 && tensor.size(0) == size) return at_places(tensor, 0, places);
    const bool has_axis = tensor.rank() == rank || (cut.lower_ranks && tensor.rank() < rank);
    if (!has_axis || axis >= tensor.rank() || tensor.size(axis) != size) return tensor;
    return at_places(tensor, axis, places);
  });
  part.recorded.reset();
  return part;
}

// Both are the benchmark of one thing, perhaps summed in another order.
bool agree(const Tensor& part, const Tensor& whole) {
  if (part.shape() != whole.shape() || part.dtype() != whole.dtype()) return false;
  const Tensor left = part.to(DType::float64).contiguous();
  const Tensor right = whole.to(DType::float64).contiguous();
  double total = 0;
  double count = 0;
  for (std::int64_t i = 0; i < right.numel(); ++i) {
    const double size = std::abs(right.data<double>()[i]);
    if (!std::isfinite(size)) continue;
    total += size;
    ++count;
  }
  constexpr double places_off = 0x1p10;
  const double typical = count > 0 ? total / count : 0;
  for (std::int64_t i = 0; i < left.numel(); ++i) {
    const double a = left.data<double>()[i];
    const double b = right.data<double>()[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::abs(a - b) <= places_off * epsilon(whole.dtype()) * (std::abs(b) + typical))) return false;
  }
  return true;
}

class Trial {
 public:
  // Of one place of an axis at most so many additions.
  Trial(const WholeCall& whole, const Tensor& bench, const RoundingFit& fit, const RowOf& row,
        double most_additions_of_place = most_times * most_additions)
      : whole_(whole), bench_(bench), fit_(fit), row_(row), most_additions_of_place_(most_additions_of_place) {}

  std::optional<CallPart> at(std::int64_t axis) const {
    const std::int64_t size = bench_.size(axis);
    const double share = std::min(most_elements / whole_.elements, most_additions / std::max(whole_.additions, 1.0));
    // A single place may be somewhat more than that.
    const auto places = static_cast<double>(size);
    if (whole_.elements > most_times * most_elements * places || whole_.additions > most_additions_of_place_ * places)
      return std::nullopt;
    const auto count = static_cast<std::int64_t>(std::max(share * places, 1.0));
    if (count >= size) return std::nullopt;
    const PlacesByIndex by_index = places_by_index(bench_, fit_, axis, whole_.device);
    const std::vector<std::int64_t> shown = places_of(by_index, count);
    for (const bool lower_ranks : {false, true}) {
      if (auto part = with(axis, shown, {.lower_ranks = lower_ranks && axis == 0})) return part;
    }
    if (axis > 0) {
      if (auto part = with(axis, shown, {.vectors = true})) return part;
    }
    // The gradient of a mean is in proportion to the number of its terms; by powers of two nothing is rounded.
    int halvings = 0;
    std::int64_t exact = size;
    while (exact > count && exact % 2 == 0) {
      exact /= 2;
      ++halvings;
    }
    if (exact > count) return std::nullopt;
    return with(axis, places_of(by_index, exact), {.lower_ranks = axis == 0, .halvings = halvings});
  }

 private:
  std::optional<CallPart> with(std::int64_t axis, const std::vector<std::int64_t>& places, const Cut& cut) const {
    CallPart part;
    part.axis = axis;
    part.places = places;
    try {
      part.call = cut_call(whole_.call, cut, bench_.rank(), bench_.size(axis), axis, places);
      // Arguments that all places share make a part as dear as the whole.
      if (floating_elements(part.call) > most_times * most_elements) return std::nullopt;
      part.bench = evaluate(whole_.op, part.call, whole_.benchmark);
    } catch (const SkipError&) {
      // Its arguments do not belong together any more.
      return std::nullopt;
    }
    const std::optional<Tensor> tensor = row_(part.bench);
    if (!tensor || !agree(*tensor, part.of(bench_))) return std::nullopt;
    return part;
  }

  const WholeCall& whole_;
  const Tensor& bench_;
  const RoundingFit& fit_;
  const RowOf& row_;
  double most_additions_of_place_;
};

// Heads of the sample of the batch that has the element furthest from explained.
std::optional<CallPart> heads_of_sample(const WholeCall& whole, const Tensor& bench, const RoundingFit& fit,
                                        const RowOf& row) {
  constexpr std::int64_t fewest_axes = 3;  // samples, heads and what they are made of
  if (bench.rank() < fewest_axes || bench.size(0) < 1) return std::nullopt;
  const std::int64_t samples = bench.size(0);
  const std::int64_t sample = places_of(places_by_index(bench, fit, 0), 1).front();
  const MaterialisedCall call = cut_call(whole.call, {}, bench.rank(), samples, 0, {sample});
  const WholeCall of_sample{whole.op,
                            call,
                            whole.benchmark,
                            floating_elements(call),
                            whole.additions / static_cast<double>(samples),
                            whole.device.defined() ? at_places(whole.device, 0, {sample}) : Tensor()};
  const Tensor bench_of_sample = at_places(bench, 0, {sample});
  const RoundingFit fit_of = fit_of_sample(fit, bench_of_sample.numel(), sample);
  std::optional<CallPart> part = Trial(of_sample, bench_of_sample, fit_of, row, most_additions_of_a_head).at(1);
  if (part) part->sample = sample;
  return part;
}

}  // namespace

Tensor CallPart::of(const Tensor& whole) const {
  return at_places(sample ? at_places(whole, 0, {*sample}) : whole, axis, places);
}

std::optional<CallPart> part_of_call(const WholeCall& whole, const Tensor& bench, const RoundingFit& fit,
                                     const RowOf& row) {
  const OperatorTraits& traits = whole.op.traits();
  // What is free, or chosen, depends on the device's result for the whole call.
  if (traits.picks || traits.freedom != Freedom::none || traits.overwrites || whole.benchmark.last_step)
    return std::nullopt;
  const Trial trial(whole, bench, fit, row);
  for (std::int64_t axis = 0; axis < bench.rank(); ++axis) {
    if (auto part = trial.at(axis)) return part;
  }
  return heads_of_sample(whole, bench, fit, row);
}

}  // namespace msrun
