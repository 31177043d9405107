// What one rank contributes to the search for the first divergence: for each call whether its inputs agree and its
// outputs do not (dump_compare.md 15.1 to 15.3).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/dump_compare/arguments.h"
#include "tools/dump_compare/data_flow.h"
#include "tools/dump_compare/divergence.h"
#include "tools/recordings/gap.h"

namespace msrun::dump_compare {

struct CallState {
  bool judged = false;  // aligned under its own name
  bool inputs_agree = false;
  bool outputs_agree = true;  // within the limit of inputs: whoever reads them may be judged
  bool differs = false;       // some output lies beyond its limit, and far beyond the inputs
  bool equal_inputs = false;  // nothing tells them apart
  bool equal_outputs = true;
  double input_gap = 0;
  double output_gap = 0;
  std::uint32_t input = no_place;  // the leaf with the largest gap
  std::uint32_t output = no_place;
};

class RankDivergence {
 public:
  RankDivergence(std::size_t rank, const RankPair& pair, double tolerance);

  const recordings::Alignment& alignment() const { return alignment_; }
  const std::vector<CallState>& states() const { return states_; }
  RankSummary summary() const;
  bool comparable() const;

  // Calls that diverge, communications and random calls left out; in the order of the dump.
  std::vector<Finding> findings() const;
  // A random call whose outputs differ although its inputs agree.
  std::optional<Finding> random_finding() const;
  Finding finding_of(std::uint32_t call, FindingKind kind) const;
  // As Divergence::other_arguments.
  std::vector<std::string> other_arguments() const;

 private:
  struct Limits {
    double input;
    double own;
    double output;
    bool half;
  };
  // Where the noise of half precision comes into a call: nowhere, by what was computed from half precision tensors
  // before, or by tensors of its own.
  enum class Half : std::uint8_t { none, derived, own };

  TensorGap gap_of_files(std::uint32_t mine, std::uint32_t theirs) const;
  recordings::Gap gap(std::uint32_t mine, std::uint32_t theirs, double unit = 0) const;
  // Whether there is anything by which two tensors of aligned calls can be told apart.
  bool has_values(std::uint32_t mine, std::uint32_t theirs) const;
  bool has_values(const Call& mine, const Call& theirs) const;
  Half half_of(std::uint32_t call) const;
  Limits limits_of(bool half, bool backward, std::uint32_t backward_calls) const;
  // Judges an aligned call, and says by which limits.
  void judge(std::uint32_t call, std::uint32_t backward_calls);
  CallState state_of(std::uint32_t call, std::uint32_t golden_call, const Limits& limits) const;
  void compare_inputs(std::uint32_t call, std::uint32_t golden_call, const Limits& limits, CallState& state) const;
  void compare_outputs(std::uint32_t call, std::uint32_t golden_call, const Limits& limits, CallState& state) const;
  std::vector<ArgumentDifference> arguments_of(std::uint32_t call, std::uint32_t golden) const;
  // Adds the arguments that differ, if both are calls of one API.
  void name_arguments(Finding& finding) const;
  bool has_other_arguments(std::uint32_t call) const;
  // Whether an aligned call moves elements by other arguments, which statistics do not show.
  bool moves_otherwise(std::uint32_t call) const;
  // Whether other arguments made the outputs of an aligned call what they are.
  bool is_called_otherwise(std::uint32_t call) const;
  // What a module's backward call reads is what the gradients of its parameters are made of.
  void judge_gradients_by_their_modules();
  bool is_left_out(const Call& call, const Leaf& output) const;
  bool is_random(std::uint32_t call) const;
  // A foreign call whose output is part of the gradient that a backward call reads; no_place if there is none.
  std::uint32_t summand_of(std::uint32_t leaf, std::uint32_t before) const;
  bool is_foreign(std::uint32_t call) const;
  bool is_copy(std::uint32_t call) const;
  // What the disagreeing inputs of an aligned call come from: a wrong region, or data that differ.
  std::optional<Finding> origin_of(std::uint32_t call) const;
  // A call that reads something else than its golden counterpart, although what it reads is right.
  std::optional<Finding> other_reading(std::uint32_t producer, std::uint32_t reader, std::uint32_t golden_input,
                                       double gap) const;
  std::optional<Finding> region_behind(std::uint32_t producer, std::uint32_t reader, double gap) const;
  bool copies_wrongly(std::uint32_t call, double limit) const;
  // What nobody reads whose inputs can be judged: by the golden call that has the same place, or which the rows of the
  // table pair with it.
  void find_counterparts(const std::vector<Row>& rows);
  void note_read_calls();
  bool has_agreeing_counterpart(std::uint32_t call) const;
  std::optional<Finding> unread_finding(std::uint32_t call) const;
  // Whether calls without counterparts make what the golden call makes, if not each as its own.
  bool is_made_elsewhere(std::uint32_t call, std::uint32_t golden) const;
  std::uint32_t golden_of_region(std::uint32_t call) const;

  std::size_t rank_;
  const Pair& pair_;
  const double tolerance_;
  const bool checksums_;
  std::vector<std::uint32_t> call_of_;  // of each leaf of the target; in tensor mode
  recordings::Alignment alignment_;
  std::vector<CallState> states_;
  std::vector<Limits> limits_;
  std::vector<Half> half_;
  std::vector<std::uint32_t> counterparts_;  // of foreign calls, if they have any: golden calls
  std::vector<bool> read_;                   // foreign calls: a judged one depends on what they made
  const DataFlow flow_;                      // of the target
  const DataFlow golden_flow_;
};

}  // namespace msrun::dump_compare
