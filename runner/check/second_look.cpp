#include "runner/check/second_look.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "kernels/base/clock.h"
#include "kernels/compare/metrics/message_lines.h"
#include "kernels/tensor/memory.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

// Bit by bit.
bool same_tensors(const List& a, const List& b) {
  std::vector<Tensor> left;
  std::vector<Tensor> right;
  const auto collect = [](const List& trees, std::vector<Tensor>& tensors) {
    for (const Value& tree : trees) {
      for_each_leaf(tree, [&](const Value& leaf) {
        if (const Tensor* tensor = leaf.get<Tensor>()) tensors.push_back(*tensor);
      });
    }
  };
  collect(a, left);
  collect(b, right);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), bitwise_equal);
}

void note(std::vector<DetailsRow>& rows, const std::string& line) {
  for (DetailsRow& row : rows) {
    if (row.status == Status::error) add_line(row, line);
  }
}

}  // namespace

void look_again(Device& device, const DeviceCall& call, const DeviceResult& first, ApiResult& result) {
  const std::uint64_t refused = refused_tensors();
  DeviceResult second;
  std::string problem;
  try {
    const Stopwatch watch(result.times.device);
    second = device.run(call);
  } catch (const NoTensorMemory& error) {
    problem = error.what();
  } catch (const std::bad_alloc&) {
    problem = "not enough memory.";
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (!problem.empty()) {
    // That beside the first result there is no memory for a second is of the host, and says nothing of the call.
    if (refused_tensors() != refused) return;
    const std::string line =
        std::string(unknown_repetition_line) + " is not known, the call could not be run again: " + first_line(problem);
    note(result.forward_rows, line);
    note(result.backward_rows, line);
    return;
  }
  const std::string line = std::string(another_result_line) + " one when the call was run again.";
  if (!same_tensors({first.output}, {second.output})) note(result.forward_rows, line);
  if (!same_tensors(first.gradients, second.gradients)) note(result.backward_rows, line);
}

}  // namespace msrun
