#include "tools/dump_compare/tensor_metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "tools/dump_compare/rows.h"
#include "tools/recordings/not_finite.h"

namespace msrun::dump_compare {
namespace {

using recordings::infinite_number;
using recordings::not_finite_kind;
using recordings::NotFinite;

constexpr std::size_t block_elements = 16384;
// Four times the distance of neighbours, relative to a number at the lower end of its binade.
constexpr double bfloat16_noise = 0x1p-5;
constexpr double float16_noise = 0x1p-8;
constexpr const char* positions_do_not_match = "The position of inf or nan in NPU and bench Tensor do not match.";

// Nearest decimal of that many places, half to even on the exact value, read back: as Python's round().
double rounded(double value, int places) {
  if (!std::isfinite(value)) return value;
  std::array<char, 400> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, places);
  double result = value;
  if (error == std::errc{}) std::from_chars(buffer.data(), end, result);
  return result;
}

template <class T>
struct Products {
  T dot = 0;
  T target_squares = 0;
  T golden_squares = 0;
  T difference_squares = 0;

  double cosine() const { return static_cast<double>(dot / (std::sqrt(target_squares) * std::sqrt(golden_squares))); }
};

struct Sums {
  Products<double> products;
  // If any_large: all of it, for double may not hold the squares or their sums.
  Products<long double> large;
  bool any_large = false;
  double max_absolute = 0;
  double max_relative = 0;
  double max_golden = 0;
  std::int64_t within_thousandth = 0;
  std::int64_t within_five = 0;
  std::int64_t within_bfloat16 = 0;
  std::int64_t within_float16 = 0;
  bool not_finite = false;
  bool positions_differ = false;
  std::int64_t unequal_integers = 0;
};

// Reads both tensors to their ends.
class PairPass {
 public:
  // strict: the kinds of what is not finite must agree, signs included.
  PairPass(TensorSource& target, TensorSource& golden, bool strict, bool complex)
      : target_(target), golden_(golden), strict_(strict), complex_(complex) {
    single_ = target.single() && golden.single();
    whole_ = strict && target.wide_integers() && golden.wide_integers();
  }

  Sums run() {
    std::vector<double> space(4 * block_elements);
    const auto part = [&](std::size_t i) { return std::span(space).subspan(i * block_elements, block_elements); };
    while (true) {
      const std::size_t mine = target_.read(part(0), part(1));
      const std::size_t theirs = golden_.read(part(2), part(3));
      if (mine == 0 || mine != theirs) break;
      if (whole_) {
        for (std::size_t i = 0; i < mine; ++i) {
          if (part(0)[i] == part(2)[i] && target_.integers()[i] != golden_.integers()[i]) ++sums_.unequal_integers;
        }
      }
      for (std::size_t i = 0; i < mine; ++i) add(part(0)[i], part(1)[i], part(2)[i], part(3)[i]);
    }
    if (sums_.any_large) {
      sums_.large.dot += sums_.products.dot;
      sums_.large.target_squares += sums_.products.target_squares;
      sums_.large.golden_squares += sums_.products.golden_squares;
      sums_.large.difference_squares += sums_.products.difference_squares;
    }
    return sums_;
  }

 private:
  void add(double n, double n_imaginary, double b, double b_imaginary) {
    if (!complex_) n_imaginary = b_imaginary = 0;
    if (!settle(n, b) || !settle(n_imaginary, b_imaginary)) return;
    double relative = 0;
    double difference = n - b;
    if (complex_) {
      difference = std::hypot(difference, n_imaginary - b_imaginary);
      const double golden_size = std::hypot(b, b_imaginary);
      constexpr double epsilon = std::numeric_limits<double>::epsilon();
      relative = golden_size == 0 ? std::hypot(n, n_imaginary) / epsilon : difference / golden_size;
      sums_.max_golden = std::max(sums_.max_golden, golden_size);
    } else if (single_) {
      auto top = static_cast<float>(n);
      auto bottom = static_cast<float>(b);
      if (bottom == 0) {
        top += std::numeric_limits<float>::epsilon();
        bottom += std::numeric_limits<float>::epsilon();
      }
      relative = static_cast<double>(std::abs((top - bottom) / bottom));
      sums_.max_golden = std::max(sums_.max_golden, std::abs(b));
    } else {
      double top = n;
      double bottom = b;
      if (bottom == 0) {
        top += std::numeric_limits<double>::epsilon();
        bottom += std::numeric_limits<double>::epsilon();
      }
      relative = std::abs((top - bottom) / bottom);
      sums_.max_golden = std::max(sums_.max_golden, std::abs(b));
    }
    constexpr double most = 1e140;
    const bool is_large =
        std::max(std::max(std::abs(n), std::abs(b)), std::max(std::abs(n_imaginary), std::abs(b_imaginary))) > most;
    if (is_large && strict_) {
      sums_.any_large = true;
      add_products<long double>(n, n_imaginary, b, b_imaginary, difference, sums_.large);
    } else {
      add_products<double>(n, n_imaginary, b, b_imaginary, difference, sums_.products);
    }
    sums_.max_absolute = larger(sums_.max_absolute, std::abs(difference));
    sums_.max_relative = larger(sums_.max_relative, relative);
    if (relative < 0.001) ++sums_.within_thousandth;
    if (relative < 0.005) ++sums_.within_five;
    if (relative <= bfloat16_noise) ++sums_.within_bfloat16;
    if (relative <= float16_noise) ++sums_.within_float16;
  }

  template <class T>
  static void add_products(T n, T n_imaginary, T b, T b_imaginary, T difference, Products<T>& products) {
    products.dot += n * b + n_imaginary * b_imaginary;
    products.target_squares += n * n + n_imaginary * n_imaginary;
    products.golden_squares += b * b + b_imaginary * b_imaginary;
    products.difference_squares += difference * difference;
  }

  static double larger(double most, double value) { return std::isnan(value) || value > most ? value : most; }

  // What is not finite at one place on both sides counts as zero. False if the sides differ there.
  bool settle(double& n, double& b) {
    const NotFinite mine = not_finite_kind(n);
    const NotFinite theirs = not_finite_kind(b);
    if (mine == NotFinite::none && theirs == NotFinite::none) return true;
    sums_.not_finite = true;
    if (mine == theirs || (!strict_ && std::isinf(n) && std::isinf(b))) {
      n = b = 0;
      return true;
    }
    sums_.positions_differ = true;
    return false;
  }

  TensorSource& target_;
  TensorSource& golden_;
  const bool strict_;
  const bool complex_;
  bool single_ = false;
  bool whole_ = false;
  Sums sums_;
};

void set_cosine(const Sums& sums, TensorMetrics& metrics) {
  constexpr double zero = 0x1p-52;
  const bool large = sums.any_large;
  const double mine =
      large ? static_cast<double>(std::sqrt(sums.large.target_squares)) : std::sqrt(sums.products.target_squares);
  const double theirs =
      large ? static_cast<double>(std::sqrt(sums.large.golden_squares)) : std::sqrt(sums.products.golden_squares);
  MetricCell& cell = metrics.cells[cosine];
  if (mine <= zero && theirs <= zero) return cell.set(1.0);
  if (mine <= zero || theirs <= zero) {
    cell.word = "Nan";
    const std::string side = mine <= zero ? "npu" : "Bench";
    metrics.messages.push_back(
        {Weight::warning, "Cannot compare by Cosine Similarity, All the data is Zero in " + side + " dump data."});
    return;
  }
  const double value = large ? sums.large.cosine() : sums.products.cosine();
  if (std::isnan(value)) {
    cell.word = "Nan";
    metrics.messages.push_back({Weight::none, "Cannot compare by Cosine Similarity, the dump data has NaN."});
    return;
  }
  const double fine = rounded(value, 12);
  cell.set(fine > 0.9999 ? rounded(fine, 6) : fine);
}

void set_error(MetricCell& cell, double value, const char* name, TensorMetrics& metrics) {
  if (!std::isnan(value)) return cell.set(rounded(value, 12));
  cell.word = "Nan";
  metrics.messages.push_back(
      {Weight::none, std::string("Cannot compare by ") + name + ", the data contains nan/inf/-inf in dump data."});
}

void set_unequal_integers(std::int64_t count, TensorMetrics& metrics) {
  metrics.unequal_integers = count;
  if (count == 0) return;
  metrics.messages.push_back({Weight::error, "Whole numbers that differ by less than the metrics show: " +
                                                 std::to_string(count) + " elements."});
}

// Two tensors of one element each.
void compare_numbers(TensorSource& target, TensorSource& golden, bool compat, TensorMetrics& metrics) {
  std::array<double, 4> values{};
  const std::span<double> all(values);
  target.read(all.subspan(0, 1), all.subspan(1, 1));
  golden.read(all.subspan(2, 1), all.subspan(3, 1));
  if (!compat && target.wide_integers() && golden.wide_integers() && values[0] == values[2]) {
    set_unequal_integers(target.integers()[0] != golden.integers()[0] ? 1 : 0, metrics);
  }
  double absolute = 0;
  double relative = 0;
  const NotFinite real_kind = not_finite_kind(values[0]);
  const bool same_real = real_kind == not_finite_kind(values[2]);
  const bool equal = !compat && real_kind != NotFinite::none && same_real;
  const bool apart = !same_real || not_finite_kind(values[1]) != not_finite_kind(values[3]);
  if (apart && !compat) metrics.messages.push_back({Weight::error, positions_do_not_match});
  if (!equal) {
    const bool single = target.single() && golden.single();
    const double epsilon = single ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
    const double shift = values[2] == 0 ? epsilon : 0;
    const double imaginary = compat ? 0 : values[1] - values[3];
    absolute = std::hypot(values[0] - values[2], imaginary);
    relative = absolute / std::hypot(values[2] + shift, compat ? 0 : values[3]);
    if (single) {
      const auto bottom = static_cast<float>(values[2] + shift);
      relative = static_cast<double>(std::abs((static_cast<float>(values[0] + shift) - bottom) / bottom));
    }
    if (std::isnan(values[0]) || std::isnan(values[2])) absolute = relative = std::nan("");
    if (std::isinf(values[0]) && values[0] == values[2]) absolute = relative = std::nan("");
  }
  set_error(metrics.cells[max_absolute_error], absolute, "MaxAbsError", metrics);
  set_error(metrics.cells[max_relative_error], relative, "MaxRelativeError", metrics);
  metrics.messages.push_back({Weight::none,
                              "This is type of 0-d tensor, can not calculate 'Cosine', 'EucDist', 'One Thousandth Err "
                              "Ratio' and 'Five Thousandths Err Ratio'. "});
}

double gap_of(const Sums& sums) {
  if (sums.positions_differ || std::isnan(sums.max_absolute)) return infinite_number;
  if (sums.max_golden == 0) return sums.max_absolute == 0 ? 0 : infinite_number;
  return sums.max_absolute / sums.max_golden;
}

TensorMetrics compare_sources(TensorSource& target, TensorSource& golden, bool compat) {
  TensorMetrics metrics;
  const auto message = [&](Weight weight, const char* text) { metrics.messages.push_back({weight, text}); };
  // msProbe asks the target alone whether there is anything to compare.
  if (target.count() == 0 && (compat || target.shape() == golden.shape())) {
    metrics.empty = true;
    message(Weight::none, "This is empty data, can not compare.");
    return metrics;
  }
  if (target.shape() != golden.shape() || golden.count() == 0) {
    metrics.all_are("shape unmatched");
    message(Weight::error, "Shape of NPU and bench tensor do not match. Skipped.");
    return metrics;
  }
  const bool complex = !compat && (target.complex() || golden.complex());
  if (target.shape().empty()) {
    compare_numbers(target, golden, compat, metrics);
    return metrics;
  }
  const Sums sums = PairPass(target, golden, !compat, complex).run();
  const auto share = [&](std::int64_t count) {
    return rounded(static_cast<double>(count) / static_cast<double>(target.count()), 12);
  };
  if (sums.positions_differ) {
    metrics.all_are("N/A");
    message(Weight::error, positions_do_not_match);
    return metrics;
  }
  if (target.dtype() != golden.dtype()) message(Weight::warning, "Dtype of NPU and bench tensor do not match.");
  set_cosine(sums, metrics);
  metrics.cells[euclidean_distance].set(sums.any_large ? static_cast<double>(std::sqrt(sums.large.difference_squares))
                                                       : std::sqrt(sums.products.difference_squares));
  set_error(metrics.cells[max_absolute_error], sums.max_absolute, "MaxAbsError", metrics);
  set_error(metrics.cells[max_relative_error], sums.max_relative, "MaxRelativeError", metrics);
  metrics.cells[one_thousandth].set(share(sums.within_thousandth));
  metrics.cells[five_thousandths].set(share(sums.within_five));
  metrics.within_bfloat16_noise = share(sums.within_bfloat16);
  metrics.within_float16_noise = share(sums.within_float16);
  metrics.gap = gap_of(sums);
  set_unequal_integers(sums.unequal_integers, metrics);
  return metrics;
}

std::uint64_t memory_of_both(const TensorFile& target, const TensorFile& golden) {
  return memory_of(target) + memory_of(golden);
}

// Why the file cannot be read to its end; empty if it can.
std::string problem_of(const TensorFile& file) {
  if (file.path.empty()) return "The name of the file of a tensor leads out of its folder.";
  try {
    TensorSource source(file);
    std::vector<double> space(2 * block_elements);
    const std::span<double> all(space);
    while (source.read(all.first(block_elements), all.subspan(block_elements)) > 0) {
    }
    return {};
  } catch (const std::exception& error) {
    const std::string reason = error.what();
    return reason.find(file.path) == std::string::npos ? "The file " + file.path + " cannot be read: " + reason
                                                       : reason;
  }
}

// Tells which files cannot be read. msProbe's words name neither the cause nor, where both files have one name, the
// side.
TensorMetrics unread_files(const TensorFile& target, const TensorFile& golden, bool compat,
                           const std::string& as_msprobe) {
  TensorMetrics unread;
  const std::string mine = problem_of(target);
  const std::string theirs = problem_of(golden);
  unread.problem = mine + (mine.empty() || theirs.empty() ? "" : " ") + theirs;
  // Whatever it was is gone, but has kept the files from being compared.
  if (unread.problem.empty()) unread.problem = as_msprobe;
  for (const auto& [side, problem] : {std::pair("NPU", &mine), {"Bench", &theirs}}) {
    if (compat || problem->empty()) continue;
    unread.messages.push_back(
        {Weight::error, "Dump file of " + std::string(side) + " not found or read failed. " + *problem});
  }
  if (unread.messages.empty()) unread.messages.push_back({Weight::error, as_msprobe});
  return unread;
}

}  // namespace

double agreeing_share(const TensorMetrics& metrics, std::string_view dtype) {
  const std::string name = canonical_dtype(dtype);
  if (name == "bfloat16") return std::max(metrics.within_bfloat16_noise, metrics.cells[one_thousandth].number);
  if (name == "float16") return std::max(metrics.within_float16_noise, metrics.cells[one_thousandth].number);
  return metrics.cells[one_thousandth].number;
}

TensorMetrics compare_tensor_files(const TensorFile& target, const TensorFile& golden, bool compat,
                                   MemoryBudget& memory) {
  const MemoryBudget::Share share = memory.take(memory_of_both(target, golden));
  const TensorFile* opened = &target;
  try {
    TensorSource mine(target);
    opened = &golden;
    TensorSource theirs(golden);
    TensorMetrics metrics = compare_sources(mine, theirs, compat);
    const auto tell = [&](const TensorSource& source, const char* side, const TensorFile& file) {
      if (source.factor_applied()) return;
      metrics.messages.push_back(
          {Weight::warning, std::string("Failed to right-matmul ") + side + " tensor from " + file.factor});
    };
    tell(mine, "target", target);
    tell(theirs, "golden", golden);
    return metrics;
  } catch (const FileError&) {
    return unread_files(target, golden, compat, "Dump file: " + opened->path + " not found or read failed.");
  } catch (const std::exception&) {
    const auto name = [](const TensorFile& file) { return file.path.substr(file.path.rfind('/') + 1); };
    return unread_files(target, golden, compat,
                        "Dump file: " + name(target) + " or " + name(golden) + " not found or read failed.");
  }
}

TensorGap gap_of_tensor_files(const TensorFile& target, const TensorFile& golden, MemoryBudget& memory) {
  const MemoryBudget::Share share = memory.take(memory_of_both(target, golden));
  TensorGap result;
  try {
    TensorSource mine(target);
    TensorSource theirs(golden);
    result.readable = true;
    result.same_shape = mine.shape() == theirs.shape();
    result.equal = result.same_shape && mine.count() == 0;
    if (!result.same_shape || mine.count() == 0) return result;
    const Sums sums = PairPass(mine, theirs, true, mine.complex() || theirs.complex()).run();
    result.gap = gap_of(sums);
    // Whole numbers that double precision does not tell apart.
    if (sums.unequal_integers > 0) result.gap = std::max(result.gap, std::numeric_limits<double>::epsilon());
    result.equal = result.gap == 0;
  } catch (const std::exception&) {
    result.readable = false;
  }
  return result;
}

std::optional<std::int64_t> sum_of_tensor_file(const TensorFile& file) {
  try {
    TensorSource source(file);
    if (source.complex() || source.dtype().find("int") == std::string_view::npos) return std::nullopt;
    std::vector<double> space(2 * block_elements);
    double sum = 0;
    while (true) {
      const std::span<double> block = std::span(space).first(block_elements);
      const std::size_t count = source.read(block, std::span(space).subspan(block_elements));
      for (std::size_t i = 0; i < count; ++i) sum += block[i];
      if (count == 0) break;
    }
    if (!(std::abs(sum) < 0x1p53)) return std::nullopt;
    return static_cast<std::int64_t>(sum);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace msrun::dump_compare
