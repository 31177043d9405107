// Materialisation: from the recorded description of a call to the tensors it is run on (acc_check_pytorch.md 5.2, 6).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/api_call.h"
#include "kernels/api/operator_traits.h"
#include "kernels/tensor/random.h"

namespace msrun {

class Operator;

struct MaterialiseOptions {
  std::uint64_t seed = 1234;
  // Set: random data come from this one stream, as in torch; the caller keeps it at the call's place. Otherwise every
  // argument has a generator of its own, keyed by seed, API and argument.
  MersenneTwister* stream = nullptr;
  // Directory of the tensor files; empty if the dump has none.
  std::filesystem::path data_root;
  // A tensor file must lie in one of these, which are absolute and free of links; empty: it may lie anywhere.
  std::vector<std::filesystem::path> data_folders;
  // Rounds the float32 inputs of operators that run in HF32 (6.6).
  bool round_to_hf32 = true;
  // The recorded extrema are taken as they are (RangeRule::literal), and a tensor without elements is refused.
  bool literal_ranges = false;
  // Random tensors are made to fit each other (OperatorTraits::fit), and have masked places where their extrema show
  // some (masked_random.h). Not in torch's one stream, which is to give what torch draws.
  bool fit_drawn = true;
};

// Whether the backward of a call is run, by the rules of 5.2 that depend on the call and its operator. A message makes
// the backward column SKIP.
struct BackwardPlan {
  bool run = false;
  std::string message;
  // The part of the message that is no rule: why the gradients of the outputs could not be built; empty: they could.
  std::string failure;
};
BackwardPlan plan_backward(const ApiCall& call, const OperatorTraits& traits);

inline constexpr std::string_view file_note = "The file ";

struct MaterialisedCall {
  std::string name;
  ApiName parts;
  List args;  // tensor leaves are Tensors
  Dict kwargs;
  // One per tensor in args, then one per tensor in kwargs, depth first.
  std::vector<bool> requires_grad;
  BackwardPlan backward;
  // Gradient of each output as recorded: Tensor or None. Empty if the backward is not run.
  List gradients;
  std::string output_dtype;
  List output_forms;  // as ApiCall has them
  // Whether the device casts as it did under autocast when the call was recorded.
  bool autocast = true;
  // The benchmark raises each tensor by what came before it, as the old pre-check does (att_layout.md 5); otherwise all
  // become one dtype.
  bool raises_one_by_one = false;
  // A gradient that is None is that of torch's backward() without arguments: 1 of a single output with one element.
  bool implicit_gradient = false;
  // The benchmark of operators that the pre-check takes for those of HF32 stays in float32, as msProbe's does.
  bool hf32 = true;
  // In which the benchmark is computed, and compared without being rounded; unset: by the dtypes of the arguments.
  std::optional<DType> benchmark_dtype;
  // An input is random within extrema of which one is infinite, so that it reaches to the end of its dtype: numbers
  // that the recorded call need not have had.
  bool unbounded = false;
  // The rounding to HF32 changed an input.
  bool hf32_changed = false;
  // The device's results, for calls that were given them.
  std::optional<RecordedResult> recorded;
  // Recorded gradients are those of the positional tensors, one each and in their order.
  bool gradients_by_argument = false;
  // What is odd about the tensor files, though they could be read; one sentence each, with file_note in front where a
  // file holds something else than the dump says.
  std::vector<std::string> notes;
};

// Calls visit for every tensor of the arguments, positional ones first, depth first.
void for_each_argument(const MaterialisedCall& call, const std::function<void(const Tensor&)>& visit);

// Calls visit for every tensor of the arguments, in the order of for_each_argument, and then for every gradient of an
// output.
void for_each_input(const MaterialisedCall& call, const std::function<void(const Tensor&)>& visit);

// The argument for an operator's first parameter: the first positional one, or, where there is none, that of the
// parameter's name.
struct FirstArgument {
  const Value* value = nullptr;  // null if the call has none
  std::size_t tensor = 0;        // how many tensors for_each_argument visits before it

  const Tensor* as_tensor() const { return value == nullptr ? nullptr : value->get<Tensor>(); }
  // Its gradient among those of an evaluation or a device (Evaluation::gradients); null if there is none.
  const Tensor* gradient_in(const List& gradients) const {
    return value == nullptr || tensor >= gradients.size() ? nullptr : gradients[tensor].get<Tensor>();
  }
};
FirstArgument first_argument(const Operator& op, const MaterialisedCall& call);

// Floating and complex tensors among the arguments.
std::int64_t floating_arguments(const MaterialisedCall& call);

// The call with every tensor that for_each_input visits replaced by change(tensor), called in that order.
MaterialisedCall with_inputs(const MaterialisedCall& call, const std::function<Tensor(const Tensor&)>& change);

// The path of the file that holds a recorded tensor. Throws SkipError for one outside of options.data_folders, whether
// its name is absolute, climbs up, or leads through a link.
std::filesystem::path recorded_file(const TensorSpec& spec, const MaterialiseOptions& options);

// Throws SkipError where a value cannot be built; the text is the SKIP reason.
MaterialisedCall materialise(const ApiCall& call, const MaterialiseOptions& options);

// Words of the random stream that materialise takes for the call; 0 for one that it refuses.
std::uint64_t stream_words(const ApiCall& call, bool real_data, bool literal_ranges = false);

}  // namespace msrun
