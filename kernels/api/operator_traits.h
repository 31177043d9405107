// What is known about an operator beside its signature and its body: one line in the operator's file, under its NAMES.
//
//   TRAITS("topk", .ties = {.indices = IndexOutput::of_values, .unique = true}, .picks = PickedAxis{2, -1},
//          .differentiable_output = 0);
//
// Fields that a line leaves out have the values given here, which hold for most operators. Fields follow each other in
// the order of this struct. Nothing outside of the operators' files knows an operator by its name: who needs to know
// something asks Operator::traits() or traits_of (operators.h), or is handed what it needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "kernels/api/drawn_call.h"
#include "kernels/api/value.h"

namespace msrun {

// What autocast does to the floating inputs of an operator, by torch's lists ("Autocast Op Reference").
enum class AutocastPolicy : std::uint8_t { keep, lower, float32 };

// What the indices that an operator returns select. Which of several equal elements is named is free.
enum class IndexOutput : std::uint8_t {
  none,         // no output holds indices
  of_values,    // of two outputs: the second holds the indices of the values in the first
  of_largest,   // of the largest elements; the only output
  of_smallest,  // of the smallest elements; the only output
  of_order,     // of all elements in rising or falling order; the only output
  // The second of several outputs holds the indices of the largest probabilities in the softmax of the first argument
  // over its last axis, or the length of that for none; the first holds these probabilities.
  of_softmax,
};

struct TieRule {
  IndexOutput indices = IndexOutput::none;
  bool unique = false;   // an index occurs at most once along the axis
  bool running = false;  // an index is at most its own place along the axis
};

// Where a call says along which axis it picks elements, each of which passes the gradient of its output on. The
// keywords dim and axis say so, too.
struct PickedAxis {
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
  std::size_t position = never;  // among the positional arguments
  // The axis of a call that gives none; nothing: such a call reduces the whole tensor, and equal elements share the
  // gradient.
  std::optional<std::int64_t> usual = std::nullopt;
  // A call that gives no axis picks among all elements instead.
  bool from_all = false;
};

// What frameworks have settings for that let a device round the float32 operands of products.
enum class OperandSetting : std::uint8_t { products, convolutions, recurrences };

// Which choice a decomposition leaves to whoever computes it (kernels/compare/choices/freedom.h).
enum class Freedom : std::uint8_t {
  none,
  singular,       // (U, S, V): paired columns of U and V up to a sign or phase; a recording may hold V's as rows
  singular_rows,  // (U, S, V^H): the right vectors are rows
  orthogonal,     // (Q, R): columns of Q with the rows of R
  symmetric,      // (values, vectors)
  general,        // values in any order, alone or with their vectors
};

// How a call rounds to an integer what it has computed (round(x * 100), floor(a / b)): where that lies on a step but
// for rounding, sound arithmetic may end on either side. Kernels of half types may store what they have computed in the
// half type first.
enum class Steps : std::uint8_t {
  none,                  // never, or an argument itself
  of_float32,            // half types as well are computed in float32 up to the step
  of_stored,             // the half type holds what is rounded to an integer
  at_a_kink,             // not rounded, but a slope that jumps where arguments lie: that of either side is right there
  of_stored_difference,  // floor(a / b) by (a - a % b) / b, of which the half type holds both steps
};

// What the gradients are that a dump holds of a call. The dumper hooks autograd nodes, not arguments.
enum class RecordedGradients : std::uint8_t {
  of_arguments,
  of_last_step,     // the last node is only a part of the operator: its gradients are not those of the arguments
  of_passed_input,  // the operator may return its argument itself, whose own node is hooked then
  of_addmm,         // those of the arguments, or of addmm in its order: bias, input, transposed weight
};

// Which results of a call an accelerator may compute with other bits each time, from the same inputs: it adds in the
// order in which terms arrive, lets several elements be written to one place, picks among equal elements, or draws at
// random. By torch's lists of operators that are not deterministic (torch.use_deterministic_algorithms; attention:
// scaled_dot_product_attention; recurrent layers: cuDNN).
enum class Varies : std::uint8_t { nothing, gradients, results };

// What of a call an accelerator adds up in its half type, rounding after every addition: terms that several threads add
// to one element (atomicAdd on the element itself), and running sums. Everything else it sums in float32 (at::acc_type,
// the accumulators of CANN's reductions and norms).
enum class HalfSums : std::uint8_t { nothing, gradients, results };  // results: of the gradients, too

// A dtype in place of another.
struct DTypeChange {
  DType from;
  DType to;
};

struct OperatorTraits {
  AutocastPolicy autocast = AutocastPolicy::keep;

  // Takes complex tensors. Calls of other operators with them are a SKIP before anything is computed.
  bool complex = false;
  // Moves elements and computes nothing: every element of the results is an element of an argument or a fill value, at
  // most converted to the dtype of the result. Such an operator takes tensors of any dtype, complex ones as well.
  bool copies_only = false;
  constexpr bool takes_complex() const { return complex || copies_only; }

  TieRule ties = {};
  std::optional<PickedAxis> picks = std::nullopt;
  // What it does depends on how the elements of its first argument are ordered and which of them are equal. How much
  // its results depend on the values is measured with changes that keep both.
  bool ranks = false;
  // Whether a call does so with the first floating tensor among its arguments, of an operator of which only some do.
  // Null: none does.
  bool (*ranks_in)(const List& args, const Dict& kwargs) = nullptr;
  bool ranks_with(const List& args, const Dict& kwargs) const {
    return ranks || (ranks_in != nullptr && ranks_in(args, kwargs));
  }
  // Whether a call does so with the elements of all its floating arguments together, with their magnitudes, or with
  // differences of them: all of these keep their order and their ties where every element is changed by one factor.
  // Null: none does.
  bool (*ranks_all_in)(const List& args, const Dict& kwargs) = nullptr;
  bool ranks_all_with(const List& args, const Dict& kwargs) const {
    return ranks_all_in != nullptr && ranks_all_in(args, kwargs);
  }
  // Results without axes may have one of length 1: torch gave it on the CPU up to 2.0, and nowhere else.
  bool may_add_axis = false;
  // Null: it has no steps.
  Steps (*steps)(const List& args, const Dict& kwargs) = nullptr;
  // Those of the gradients of a call that has some.
  Steps gradient_steps = Steps::none;
  Freedom freedom = Freedom::none;
  // Writes values to places of its result that an index names, and notes them (kernels/numeric/choices.h): of several
  // for one place any may stay.
  bool overwrites = false;
  // Draws at random which elements are zero: their shares are compared, and what is not random about the values.
  bool random_zeros = false;
  // The zeros of those are whole channels (axes 0 and 1): so many draws are what chance is reckoned with.
  bool random_channels = false;
  Varies varies = Varies::nothing;
  // Whether equal calls may give unequal outputs, or unequal gradients.
  constexpr bool outputs_vary() const { return random_zeros || varies == Varies::results; }
  constexpr bool gradients_vary() const { return random_zeros || varies != Varies::nothing; }
  HalfSums half_sums = HalfSums::nothing;
  constexpr bool adds_in_half(bool gradients) const {
    return half_sums == HalfSums::results || (gradients && half_sums == HalfSums::gradients);
  }
  // The framework's function returns nothing. The result here is the argument it has changed, which is compared where a
  // device gives it.
  bool returns_nothing = false;
  // The only one of several outputs that is compared, the others serve the device alone; nothing: all are.
  std::optional<std::size_t> compared_output = std::nullopt;
  // The only one of several outputs that msProbe differentiates; nothing: it refuses the backward of a call with
  // several. Asked for under --compat msprobe.
  std::optional<std::size_t> differentiable_output = std::nullopt;

  // Changes the recorded arguments of a call before its tensors are made: tensor leaves are TensorSpecs, in whose place
  // Tensors may be put (acc_check_pytorch.md 6.2). Null: they stay as they are.
  void (*adapt)(List& args, Dict& kwargs) = nullptr;
  // Changes random tensors of a call, once they are made, so that they fit its other arguments and the gradient of its
  // result: a mask that is true as often as there are values, offsets that rise. Null: they stay as they were drawn.
  void (*fit)(DrawnCall& call) = nullptr;
  // The dtype that argument tensors of another dtype are converted to, generated and read from files.
  std::optional<DTypeChange> converts = std::nullopt;
  // The setting of a device that lets it round the float32 operands.
  OperandSetting operand_setting = OperandSetting::products;
  // The bare API name of this operator under which the pre-check takes it for one that runs in HF32: its float32 inputs
  // are rounded to HF32 (6.6), and its benchmark stays in float32 (6.7). Empty: none.
  std::string_view hf32_as = {};
  constexpr bool runs_in_hf32(std::string_view api) const { return !hf32_as.empty() && hf32_as == api; }
  // What the call returns depends on the dtypes of its arguments, so that those of the benchmark are not raised.
  bool keeps_dtypes = false;
  // Computed in one step that forms sums in the accumulator and rounds its result once, to nearest, and so are its
  // gradients: at most two floating arguments, because a third, a bias, may be added in a step of its own.
  bool rounds_once = false;
  // Whose output one kernel of a device forms, with steps that follow each other in float32: bfloat16, which
  // accelerators store and do not compute in, is rounded to once. Its gradients start from an output that was stored.
  bool one_kernel = false;
  // Its results are logarithms of sums.
  bool logarithm_of_sums = false;
  // These sums are divided by a number, so that for squared inputs they are not the sums of the squares of the terms.
  bool divides_sums = false;
  // Why the backward is never run, as a Message; empty: it is run.
  std::string_view backward_refusal = {};

  // Multiply-adds of the forward, by the recorded positional arguments. Null: the work is proportional to the elements.
  double (*multiply_adds)(const List& args) = nullptr;
  // What an element of a call costs, of both sides and the comparison, measured in elements of an addition: for the
  // forecast of --dry-run. Operators that cost less than half as much again have no number of their own.
  double element_work = 1;

  RecordedGradients recorded_gradients = RecordedGradients::of_arguments;
  // The bare API name of this operator that this is known of; empty: all its names.
  std::string_view recorded_as = {};
  constexpr RecordedGradients gradients_recorded_of(std::string_view api) const {
    return recorded_as.empty() || recorded_as == api ? recorded_gradients : RecordedGradients::of_arguments;
  }

  // Why no call can be checked, as the rest of a sentence that starts with the operator's name; empty: calls can be.
  std::string_view uncheckable = {};
};

// The traits of an operator without a TRAITS line.
inline constexpr OperatorTraits ordinary_traits{};

// What a TRAITS line leaves behind while the library is loaded. The line must outlive the program's use of the table.
struct TraitsRegistration {
  TraitsRegistration(const char* canonical, const OperatorTraits& traits);

  const char* canonical;
  OperatorTraits traits;
  mutable const TraitsRegistration* next = nullptr;
};

}  // namespace msrun
