// Why a result differs: whether rounding explains a warning or error, and if not, what the numbers tell about the
// cause.
//
// The statuses stay as the documented limits have them. A row that rounding explains is marked (rounding_only) and says
// so in its Message; any other row says how far it is from explained and, where the evidence is strong, why: by the
// pattern of the differences, or because the call, computed once more with another arithmetic (float16 accumulation,
// HF32 operands, flushed denormals), gives the device's result. What is computed once more is bounded by the call's
// size alone, so that the same recording always gets the same Messages.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/compare/compare.h"
#include "kernels/compare/rounding.h"
#include "kernels/evaluate/evaluate.h"
#include "runner/check/row_case.h"
#include "runner/check/variations.h"
#include "runner/device/device.h"

namespace msrun {

class Explainer {
 public:
  // bench is the call's benchmark, made with these options. All of them outlive the explainer. arithmetic is what the
  // device says of itself.
  Explainer(const Operator& op, const MaterialisedCall& call, const Evaluation& bench,
            const EvaluationOptions& benchmark_options, const DeviceArithmetic& arithmetic);

  // Looks at the rows of one direction that are warning or error. select gives the values that were compared, of an
  // evaluation of the call, one leaf per row; silent leaves the Messages as they are.
  using Select = std::function<std::vector<Value>(const Evaluation&)>;
  void explain(Comparison& comparison, const SumStatistics& sums, const Select& select, bool silent);

 private:
  // Changed inputs by which the terms behind a result are measured: few at first, and as many where these leave it
  // open, because chance may let terms that cancel change alike.
  static constexpr std::size_t first_samples = 4;
  static constexpr std::size_t most_samples = 16;
  static constexpr std::size_t first_noise_samples = 2;
  static constexpr std::size_t most_noise_samples = 8;
  // One in so many elements are few.
  static constexpr std::int64_t few_of_elements = 8;
  // The errors of all elements together are at most so many times those that rounding on the way is measured to make.
  static constexpr double times_of_noise = 3;

  // Noise of float32 within half types is explained as many times over as in float32 itself (16 for 6, rounding.cpp),
  // and both the device and the benchmark have it.
  static constexpr double times_of_float32 = 4;

  // What rounding explains of a row.
  struct Judged {
    SumModel model;
    RoundingFit fit;
    bool stored = false;                               // because intermediate results are stored
    std::optional<DType> stored_as;                    // in that dtype; nothing: in the row's
    const char* in_half = "";                          // what is rounded to the half type on the way; empty: nothing
    OperandRounding operands = OperandRounding::none;  // to which rounding operands is what explains it
    std::optional<Summation> in_series;                // in which order terms were added that explains it
    std::int64_t on_steps = 0;      // elements on the other side of a step than the benchmark (step_sides.h)
    std::int64_t alternatives = 0;  // elements with the other of two right results
    std::int64_t count = 0;
    // What is left open where the steps of a half type are known, which do not explain it, either; once that is taken,
    // what was open without them.
    std::optional<std::pair<SumModel, RoundingFit>> beside_steps;
    Tensor part;  // the benchmark of the part of the result that was judged; undefined: of all of it
    bool is_explained() const;
    // Takes it where fewer elements are open so.
    void take_beside_steps();
  };

  // The tensor that an arithmetic gives in place of the device's; nothing if it cannot be had.
  std::optional<Tensor> computed_with(const Arithmetic& arithmetic, const RowCase& row);
  void explain_row(RowCase& row, DetailsRow& details, bool silent);
  Judged judge(RowCase& row);
  // Judges a result of a call that is too large to be computed again: by a part of it (call_part.h), or where there is
  // none, a pass by a multiple of the bound.
  void judge_large(const RowCase& row, Judged& judged);
  // Judges sums by the terms behind each element, as few samples show them, if the call is not too large for these.
  // False if nothing could be measured.
  bool measure_few_times(const RowCase& row, Judged& judged);
  // Judges what that leaves open by the noise of few samples, if the call is not too large for these. True if that
  // explains the row.
  bool judge_few_times(const RowCase& row, Judged& judged);
  // Whether the errors of a half type are no larger than those of a few steps that round to it, of a call that is too
  // large for any sample and has such steps, together with what its sums lose if a processor forms them.
  bool grant_half_steps(const RowCase& row, Judged& judged);
  // What sums give that are rounded to the half type after every addition, of a device that may add so, if the call can
  // be computed once more. Nothing where such sums stand still.
  std::optional<Tensor> with_narrow_sums(const RowCase& row, const SumModel& model);
  // For calls that round to an integer within, or of which two results are right: puts the sides of steps that the
  // device is on, and its choice of results, into the benchmark, and judges by what lies between them. False for other
  // calls.
  bool judge_steps(RowCase& row, Judged& judged);
  // Whether rounding the operands of products as the device's settings let it explains the row, with the terms that
  // were measured. False where such rounding changes nothing.
  bool rounds_operands(const RowCase& row, Judged& judged);
  // Whether such rounding explains the row, if it changes it.
  bool grant_operands(const RowCase& row, Judged& judged) const;
  // How many times the errors of operands that are rounded as the settings let them those of a device may be.
  double times_of_operands() const;
  // Whether a device's errors have the size, and what they have in common, of operands that are rounded: `rounded` is
  // the call computed so.
  bool errs_like_operands(const RowCase& row, const Tensor& rounded, double times);
  // rounds_operands() for a call that is too large for its terms to be measured. It is computed so once, or, if it is
  // too large for that as well, held to what the roundoff of an operand makes of a typical element.
  bool rounds_operands_of_large(const RowCase& row, Judged& judged);
  // What all elements of a row may err by together, relative to them.
  double allowed_in_common(const RowCase& row) const;
  bool is_held_to_common_error(const RowCase& row, const Judged& judged) const;
  // Whether all elements of an explained row are off by one factor, which neither roundings nor chance make so large,
  // nor sound arithmetic where it can be had.
  bool errs_in_common(const RowCase& row, const Judged& judged);
  // errs_in_common() of a row that is held to it; in_half is what arithmetic gives that adds in a half type, if the
  // device may do so.
  bool has_factor_in_common(const RowCase& row, const Judged& judged,
                            const std::optional<Tensor>& in_half = std::nullopt);
  // Makes every element that differs one that rounding does not explain.
  static void refuse_common_error(const RowCase& row, Judged& judged);
  // Root of the sum of the squares of the terms behind each element; undefined if it cannot be had.
  Tensor spread_of_terms(const RowCase& row, std::size_t samples);
  // Judges by the terms behind each element, as so many changed benchmarks show them. True if that explains the row.
  bool measure(const RowCase& row, std::size_t samples, Judged& judged);
  // Whether sound arithmetic, for inputs a few places beside the call's, errs as much as the device does.
  bool measure_noise(const RowCase& row, std::size_t samples, bool rough, Judged& judged);
  // Whether arithmetic in the dtypes of the call, which errs on the way as a device may, gives the device's result.
  bool is_sound(const RowCase& row, const SumModel& model);
  // Which values that are not finite sound arithmetic has in another order or range than the benchmark's
  // (SumModel::not_finite); undefined if none, or if the device has none. What maps the largest inputs to small
  // numbers, as a softmax does, has none, and -inf + 1 is -inf in any order.
  Tensor other_not_finite(const RowCase& row);
  // How the row is rounded to an integer on the way.
  Steps steps_of(const RowCase& row) const;
  // What the elements of a half type may err by in a row that holds elements of the upstream gradient, or of the
  // arguments, and sums of them (SumModel::most): by nothing where one alone comes to them, and otherwise by the
  // roundings of so few additions. Undefined of other rows.
  Tensor most_of_few_terms(const RowCase& row);
  // Whether samples of the row err by no more than sums in float32 of `by_one` terms, of which the sizes together are
  // `by_magnitude`, and not at all where there is one.
  bool only_rounds_sums(const RowCase& row, const Tensor& by_one, const Tensor& by_magnitude);
  // Whether the floating upstream gradients, or arguments, are all of that dtype.
  bool has_terms_of(DType dtype, bool of_gradients) const;
  // Whether the call only moves, drops or exactly computes the row's elements: for inputs of all digits as well, sound
  // arithmetic gives what higher precision gives, however rough its functions are.
  bool rounds_nowhere(const RowCase& row);
  // Judges such a row: gradients at a kink that no argument names may be those of either side, and nothing in between.
  void judge_unrounded(RowCase& row, Judged& judged);
  // Whether sound arithmetic itself leaves the bound because it rounds intermediate results, and the device no more
  // than that.
  bool stores_intermediates(const RowCase& row, Judged& judged);
  // Whether sums that are rounded to the half type after every addition lose a share of the result, for inputs beside
  // those of the call, that is no rounding: they stand still. They are formed in so many partial sums side by side.
  bool sums_stand_still(const RowCase& row, std::size_t samples, std::int64_t lanes);
  // Whether the row is what a device gives that stores every step of a composed operator in the half type of the
  // call, and goes on with what is left: also where the row itself is float32, a statistic of a stored sum.
  bool stores_composed_steps(const RowCase& row, Judged& judged);
  // The row as such devices may give it, in every way that differs from that of a device which does not store them.
  std::vector<Tensor> with_stored_steps(const RowCase& row);
  // Whether faulty arithmetic that neither a CPU nor an accelerator has gives the device's result.
  bool errs_as_no_cpu_does(const RowCase& row, const Judged& judged);
  // Whether the device says that it rounds nothing to the row's dtype on the way, or errs as none does that rounds.
  bool never_rounds_on_the_way(const RowCase& row, const Judged& judged);
  // Whether the terms of sums that devices add in blocks were added one after the other in float32, so that the device
  // gives what that gives.
  bool adds_in_series(const RowCase& row, Judged& judged);
  // Whether the row is formed by one kernel, which passes nothing on that it would round: that of a sum, or of what its
  // operator says so of.
  bool is_one_kernel(const RowCase& row) const;
  // Whether a gradient of so many elements has fewer than one of the results.
  bool sums_over(std::int64_t elements) const;
  // Whether arithmetic that rounds sums, or the result of every step, to the half type of the result errs as much as
  // the device does, which says that it computes so: as the kernels of processors, and operators that are composed of
  // others. Sums are formed in so many partial sums side by side.
  bool rounds_on_the_way(const RowCase& row, std::size_t samples, std::int64_t lanes, Judged& judged);
  // Whether a product errs as one that is summed in a few parts which are stored in its half type, of a device that may
  // do so; `judged` knows the spread of its terms.
  bool stores_parts(const RowCase& row, std::size_t samples, Judged& judged);
  // Whether a half type's result that is not explained would be if a processor had made it, of a recording that does
  // not say what has.
  bool is_rounding_on_a_cpu(RowCase row);
  // Whether what the device says of its rounding explains the row: of a processor, what one of its kernels rounds or
  // what several of them pass on.
  bool rounds_as_the_device(const RowCase& row, std::size_t samples, Judged& judged);
  // A way to compute a call for inputs beside its own, whose errors are so many times those of the device.
  struct Rounding {
    Variations::Beside how;
    double times = 1;
  };
  // What the errors of all elements have in common, as samples show it: a factor, on either side, and how much it
  // varies.
  struct CommonErrors {
    double least = 0;
    double most = 0;
    double variance = 0;
  };
  CommonErrors common_errors(const std::vector<Rounding>& roundings, const RowCase& row, std::size_t samples);
  // Whether errors lie in one piece of the result, or further on one side than `expected` says of such arithmetic, as
  // its errors do not. noise is what it errs by.
  bool errs_in_one_place(const Tensor& bench, const Tensor& device, const Tensor& noise,
                         const CommonErrors& expected) const;
  // The noise of steps, measured as the first of the roundings has it, with that of what they are formed in and of the
  // ends of its range, which are added to the roundings.
  Tensor noise_around_steps(Tensor of_steps, const RowCase& row, std::size_t samples, Tensor& lost,
                            std::vector<Rounding>& roundings);
  // Whether what the errors of all elements have in common, a factor, is more than rounding makes so: a few roundings
  // of one number on which all of them depend, or what such computations show. model says what else than bench is
  // right.
  bool has_common_error(const Tensor& bench, const SumModel& model, const std::vector<Rounding>& roundings,
                        const RowCase& row, std::size_t samples);
  // Whether the factors that samples computed so have in common are no larger than the scatter of their own elements,
  // rows and indices makes likely, as many as there are independent ones.
  bool have_factor_by_chance(const std::vector<Rounding>& roundings, const RowCase& row, std::size_t samples,
                             std::int64_t independent);
  // The noise of a row for inputs beside those of the call, computed so; undefined if it is not to be had. `lost` gets
  // what a rough computation, or sums in a narrow accumulator, leave in place of numbers, beside what it has.
  Tensor noise_beside(const Variations::Beside& how, const RowCase& row, std::size_t samples, Tensor& lost);
  // Why rounding explains a row.
  std::string explanation_of(const Judged& judged, DType dtype) const;
  static Trust trust_of(const Tensor& bench, DType dtype, const Judged& judged);
  std::string finding(const RowCase& row, const DifferenceMap& map, const Judged& judged);
  // A sentence that names the altered call (altered_calls.h) of which a row is the result; empty if there is none.
  std::string altered_call(const RowCase& row, const Judged& judged);
  // The same of calls with another number in place of one, which is looked for.
  std::string other_number(const RowCase& row, const Judged& judged);
  // The row of a call; nothing if it cannot be computed.
  std::optional<Tensor> row_of_call(const MaterialisedCall& call, const RowCase& row, bool of_any_shape = false) const;
  // Whether a row is that of another call, decidedly, and not of the recorded one.
  bool is_result_of(const Tensor& other, const RowCase& row, const Judged& judged) const;
  // The same of what is taken of half of each row: statistics of norms, sums of a softmax.
  std::string half_of_rows(const RowCase& row) const;
  // Whether a result in a half type that steps within the call explain is, bit by bit, that of a call with another
  // flag, text or number, and so has no such steps.
  bool is_otherwise_chosen(const RowCase& row, const Judged& judged);

  const Operator& op_;
  const MaterialisedCall& call_;
  const EvaluationOptions& benchmark_options_;
  Tensor terms_;          // behind a result without tensors among its arguments; undefined: they are measured
  bool takes_positions_;  // a position that is rounded moves a whole row or column of a result
  Variations variations_;
  bool rounds_once_;  // so that the nearest number is to be expected
  DeviceArithmetic arithmetic_;
  OperandRounding operands_;  // of products and convolutions within this operator
  bool complex_arguments_;    // of which the magnitude is computed, not copied
};

}  // namespace msrun
