#include "runner/check/damaged_files.h"

#include <memory>
#include <string>

#include "kernels/base/error.h"
#include "kernels/compare/metrics/message_lines.h"
#include "kernels/io/torch/pt_file.h"
#include "runner/judge/row_lines.h"

namespace msrun {
namespace {

bool is_damaged(const TensorSpec& spec, const MaterialiseOptions& options) {
  try {
    return contradicts_its_checksums(recorded_file(spec, options).string());
  } catch (const SkipError&) {
    return false;
  }
}

}  // namespace

void note_damaged_files(const ApiCall& call, const MaterialiseOptions& options, DetailsRow& row) {
  const auto note = [&](const Value& leaf) {
    const auto* spec = leaf.get<std::shared_ptr<const TensorSpec>>();
    if (spec == nullptr) return;
    const std::string& name = (*spec)->file();
    if (name.empty() || !is_damaged(**spec, options)) return;
    add_line(row, std::string(damaged_file_line) + name + " do not agree with its checksum: it may be damaged.");
  };
  for_each_leaf(call.args, note);
  for (const auto& [key, value] : call.kwargs) for_each_leaf(value, note);
  for_each_leaf(call.grad_inputs, note);
  if (!call.recorded) return;
  for_each_leaf(call.recorded->outputs, note);
  for_each_leaf(call.recorded->gradients, note);
}

}  // namespace msrun
