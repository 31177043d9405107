// How far the parameters of matched nodes lie apart, and what is said of them: the index of .vis and the verdicts of
// .vis.db (graph_visualization.md 7.4-7.8).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/dump_compare/tensor_metrics.h"
#include "tools/graph/match.h"
#include "tools/recordings/not_finite.h"

namespace msrun::graph {

enum class Mode : std::uint8_t { summary, md5, tensors, structure };

// "summary", "md5", "all", "structure".
std::string_view mode_text(Mode mode);

// The kind of comparison that two dumps allow. Throws UserError where they do not go together.
Mode mode_of(const Side& npu, const Side& bench);

// The index of a node as JSON shows it: 0 and 1 as whole numbers, unless it is a ratio that happens to be one.
struct Index {
  bool set = false;
  bool whole = true;
  double value = 0;
};

enum class Level : std::uint8_t { pass, warning, error };

// "pass", "warning", "error".
std::string_view level_text(Level level);

// One statistic of both sides.
struct Difference {
  enum class Form : std::uint8_t { none, integer, real, nan };
  Form form = Form::none;
  std::int64_t integer = 0;
  double real = 0;
  bool has_relative = false;  // without it the relative difference is shown as N/A, as Nan where the form is nan
  double relative = 0;        // percent

  // The benchmark's statistic is 0, and this one is not.
  bool of_nothing() const { return (form == Form::integer || form == Form::real) && !has_relative && real != 0; }
  // As a fraction; negative where it counts for nothing.
  double fraction() const { return form == Form::nan || !has_relative ? -1 : relative / 100; }
};

// Texts of .vis.db in the order of its rules.
enum class Finding : std::uint8_t {
  not_finite,
  norm_of_output,
  ratio_of_output,
  requires_grad,
  scalar,
  dtype,
  shape,
  norm_jump,
  cosine_drop,
  checksum,
  no_counterpart,
  not_finite_apart,
  values,
  tensor_file,
  tensor_places,
  tensor_empty,
  norm_of_gradient,
  ratio_of_gradient,
  norm_of_gradient_slight,
  cosine_of_gradient,
  no_values,
  xor_checksum
};
std::string_view finding_text(Finding finding);

// Place of the norm in Judged::differences.
inline constexpr std::size_t norm_place = 3;

struct Judged {
  std::uint32_t bench = no_index;                        // the parameter that it is compared with
  std::array<Difference, statistic_count> differences;   // of Mode::summary; of Mode::tensors that of the norms
  const dump_compare::TensorMetrics* tensors = nullptr;  // of Mode::tensors; null: unsupported
  bool equal_checksums = false;
  bool same_requires_grad = false;
  Level level = Level::pass;
  std::vector<Finding> findings;
};

// Why two tensors that have files could not be compared, or not as what they are; nothing if they could.
std::optional<Finding> unmeasured(const dump_compare::TensorMetrics& metrics);

// Metrics of tensor files by the numbers of the parameters on both sides.
using TensorResults = std::map<std::pair<std::uint32_t, std::uint32_t>, dump_compare::TensorMetrics>;

// What is compared, by which rules.
struct Rules {
  Dialect dialect = Dialect::vis;
  Mode mode = Mode::summary;
  bool compat = false;  // as msprobe 1.2.1, without repairs R7 and R8; .vis alone
};

class Judge {
 public:
  // All must outlive it. tensors: of every pair that may be asked for, in Mode::tensors.
  Judge(const View& npu, const View& bench, const Matches& matches, const Rules& rules, const TensorResults& tensors)
      : npu_(npu), bench_(bench), matches_(matches), rules_(rules), tensors_(tensors) {}

  // What is found about each parameter of a matched NPU node. Empty for nodes that have no partner or no data.
  std::vector<Judged> judged(std::uint32_t node) const;
  // The index of every NPU node, collections included.
  std::vector<Index> indices() const;

 private:
  Index index_of(std::uint32_t node, const std::vector<Judged>& judged) const;
  Index vis_index(std::uint32_t node, const std::vector<Judged>& judged) const;
  Index ratio_index(const Entry& entry, const std::vector<Judged>& judged) const;
  // The benchmark's node has more of them.
  bool lacks_parameters(std::uint32_t node, const std::vector<Judged>& judged) const;
  // By how much an output or gradient that has no ratios of its own is off; negative where nothing is known.
  double error_of(const Judged& judged) const;
  // Rounding of the parameter's dtype, which is no finding.
  double noise_of(const Parameter& parameter) const;
  // The share of elements within 0.001; in half types within a few units of rounding.
  double output_ratio(const Parameter& parameter, const Judged& judged) const;
  double worst_relative(const Entry& entry, const std::vector<Judged>& judged) const;
  // None of what is no number, too.
  recordings::NotFinite kind_of(const Side& side, const Parameter& parameter, Role role) const;
  // Of a mean or norm that is infinite for no other reason than that its sum overflowed.
  bool is_overflowed_sum(const Side& side, const Parameter& parameter, Role role, double number) const;
  bool not_finite(const Side& side, const Parameter& parameter) const;
  // Some statistic is NaN or an infinity on one side and not the same on the other.
  bool not_finite_apart(const Parameter& mine, const Parameter& theirs) const;
  // Statistics that are no numbers on both sides and differ: booleans, texts, and what one side alone has.
  bool other_values(const Parameter& mine, const Parameter& theirs) const;
  // Both are names of devices, which differ between accelerators.
  bool name_devices(const Parameter& mine, const Parameter& theirs) const;
  // Tensors of which neither recording has a file or a statistic.
  bool has_no_values(const Parameter& mine, const Parameter& theirs, const Judged& judged) const;
  // An output whose relative errors say nothing, although it is not that of the benchmark.
  bool differs_unmeasured(const Parameter& mine, const Parameter& theirs) const;
  // What could not be compared, or not as what it is: it may not read as if it agreed.
  void find_unmeasured(std::uint32_t node, std::vector<Judged>& judged) const;
  void add_collections(std::vector<Index>& indices) const;
  void compare(const Entry& entry, std::uint32_t parameter, Judged& judged) const;
  void find_faults(std::uint32_t node, std::vector<Judged>& judged) const;
  void find_faults_alone(std::uint32_t node, std::uint32_t place, bool outputs_only, Judged& judged) const;
  void find_faults_of_outputs(const Entry& entry, std::vector<Judged>& judged) const;
  // Whole numbers that are others although the inputs are equal: nothing rounds them.
  void find_other_whole_numbers(const Entry& entry, std::vector<Judged>& judged) const;
  bool same_statistics(const Parameter& mine, const Parameter& theirs) const;
  void find_faults_of_gradients(const Entry& entry, std::vector<Judged>& judged) const;

  const View& npu_;
  const View& bench_;
  const Matches& matches_;
  const Rules rules_;
  const TensorResults& tensors_;
};

// For each parameter of a call that of the other call it is compared with: by position within inputs, parameters,
// outputs and gradients of parameters; no_index where the other has no more.
std::vector<std::uint32_t> paired(const Side& mine, const Entry& entry, const Side& theirs, const Entry& other);

// Compares the files of all pairs that the matches ask for, on so many threads and within that memory.
TensorResults compare_tensors(const View& npu, const View& bench, std::span<const Matches* const> matches,
                              std::size_t threads, MemoryBudget& memory);

}  // namespace msrun::graph
