#include "tools/torchair_compare/op_task.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

#include "kernels/base/error.h"

namespace msrun::torchair {
namespace {

constexpr const char* my_broken = "my_data cannot be parsed.";
constexpr const char* golden_broken = "golden_data cannot be parsed.";

// Whether a tensor is an input or an output of its operator.
enum class Side : std::uint8_t { input, output };

std::string tensor_path(const std::string& file, Side side, std::size_t index) {
  return file + (side == Side::input ? ",inputs," : ",outputs,") + std::to_string(index);
}

class OpComparison {
 public:
  OpComparison(const OpTask& task, Comparer& comparer) : task_(task), comparer_(comparer) {}

  OpRows run() {
    compare();
    return {unused_ids_, mine_alone_, golden_alone_, std::move(damage_), std::move(rows_)};
  }

 private:
  void compare() {
    try {
      mine_ = open_ge_file(*task_.mine);
    } catch (const SkipError& error) {
      Row row = new_row();
      row.mine.path = task_.mine->path;
      mark_unread(row, my_broken, error.what());
      rows_.push_back(std::move(row));
      return;
    }
    std::visit([&](const auto& golden) { compare_with(golden); }, task_.golden);
  }

  Row new_row() const {
    Row row;
    row.api_name = task_.mine->op_name;
    row.stack_info = task_.stack_info;
    row.token = task_.data->token;
    return row;
  }

  Row new_row(Side side, std::size_t index) const {
    Row row = new_row();
    row.mine.path = tensor_path(task_.mine->path, side, index);
    row.place = side == Side::input ? input_place(index) : output_place(index);
    return row;
  }

  void mark_unread(Row& row, const char* reason, const char* damage) {
    row.fail_reason = reason;
    row.unread = true;
    damage_.emplace_back(damage);
  }

  const std::vector<DumpTensor>& my_tensors(Side side) const {
    return side == Side::input ? mine_.inputs : mine_.outputs;
  }

  // The row of two tensors of which at least the header could be read.
  void add_pair(const DumpTensor& golden, const DumpTensor& mine, Row row) {
    const Row blank = row;
    try {
      comparer_.compare(golden, mine, row);
    } catch (const SkipError& error) {
      // Read errors, and files that are being cut off.
      row = blank;
      const bool mine_is_broken = std::string(error.what()).find(mine.file->path()) != std::string::npos;
      mark_unread(row, mine_is_broken ? my_broken : golden_broken, error.what());
    }
    rows_.push_back(std::move(row));
  }

  void compare_with(const AgainstFx& golden) {
    for (const FxNode* node : golden.replaced) {
      unused_ids_ +=
          std::min(node->inputs.size(), mine_.inputs.size()) + std::min(node->outputs.size(), mine_.outputs.size());
    }
    for (const FxNode* node : golden.inputs) compare_with_files(node->inputs, Side::input);
    for (std::size_t i = 0; i < golden.outputs.size(); ++i) {
      const std::vector<FxTensorFile>& files = golden.outputs[i]->outputs;
      compare_with_files(files, Side::output);
      const std::size_t there = std::min(files.size(), golden.named[i]);
      golden_alone_ += there - std::min(there, mine_.outputs.size());
    }
  }

  void compare_with_files(const std::vector<FxTensorFile>& files, Side side) {
    const std::vector<DumpTensor>& tensors = my_tensors(side);
    for (std::size_t i = 0; i < std::min(files.size(), tensors.size()); ++i) {
      Row row = new_row(side, i);
      row.golden.path = files[i].path;
      std::optional<FxOpenFile> open;
      try {
        open = open_fx_file(files[i]);
      } catch (const NotNumeric& error) {
        mark_unread(row, "golden_data is not numeric.", error.what());
      } catch (const SkipError& error) {
        mark_unread(row, golden_broken, error.what());
      }
      if (open) {
        add_pair(open->tensor, tensors[i], std::move(row));
      } else {
        add_mine_only(tensors[i], std::move(row));
      }
    }
  }

  void add_mine_only(const DumpTensor& mine, Row row) {
    try {
      comparer_.describe_mine(mine, row);
    } catch (const SkipError& error) {
      mark_unread(row, my_broken, error.what());
    }
    rows_.push_back(std::move(row));
  }

  void compare_with(const AgainstItself&) {
    for (std::size_t i = 0; i < std::min(mine_.inputs.size(), mine_.outputs.size()); ++i) {
      Row row = new_row(Side::output, i);
      row.itself = true;
      row.golden.path = tensor_path(task_.mine->path, Side::input, i);
      add_pair(mine_.inputs[i], mine_.outputs[i], std::move(row));
    }
  }

  void compare_with(const AgainstGe& golden) {
    std::optional<GeOpenFile> open = open_golden(*golden.golden);
    if (!open) return;
    for (const Side side : {Side::input, Side::output}) {
      const std::vector<DumpTensor>& tensors = side == Side::input ? open->inputs : open->outputs;
      const std::vector<DumpTensor>& mine = my_tensors(side);
      mine_alone_ += mine.size() - std::min(tensors.size(), mine.size());
      golden_alone_ += tensors.size() - std::min(tensors.size(), mine.size());
      for (std::size_t i = 0; i < std::min(tensors.size(), mine.size()); ++i) {
        Row row = new_row(side, i);
        row.golden.path = tensor_path(golden.golden->path, side, i);
        add_pair(tensors[i], mine[i], std::move(row));
      }
    }
  }

  // Nothing, and a row that says so, if the file cannot be read.
  std::optional<GeOpenFile> open_golden(const GeOpFile& golden) {
    try {
      return open_ge_file(golden);
    } catch (const SkipError& error) {
      Row row = new_row();
      row.mine.path = task_.mine->path;
      row.golden.path = golden.path;
      mark_unread(row, golden_broken, error.what());
      rows_.push_back(std::move(row));
      return std::nullopt;
    }
  }

  struct FusedInput {
    std::string path;
    std::optional<DumpTensor> tensor;  // none: its operator was not dumped
  };

  // The inputs of the fused operator are those of its parts that come from elsewhere, its outputs those of the last
  // part that was dumped (torchair.md 7.4).
  void compare_with(const AgainstFused& golden) {
    std::unordered_set<std::string_view> names;
    for (const FusedPart& part : golden.parts) names.insert(part.op->name);
    std::vector<FusedInput> inputs;
    std::vector<GeOpenFile> files;
    files.reserve(golden.parts.size());
    const GeOpFile* last = nullptr;
    for (const FusedPart& part : golden.parts) {
      if (part.golden != nullptr) {
        std::optional<GeOpenFile> open = open_golden(*part.golden);
        if (!open) return;
        files.push_back(std::move(*open));
        last = part.golden;
      }
      const std::vector<std::string>& producers = part.op->inputs;
      const std::size_t count =
          part.golden == nullptr ? producers.size() : std::min(producers.size(), files.back().inputs.size());
      for (std::size_t i = 0; i < count; ++i) {
        const std::string_view producer = std::string_view(producers[i]).substr(0, producers[i].rfind(':'));
        if (names.contains(producer)) continue;
        FusedInput input;
        if (part.golden != nullptr) {
          input.path = tensor_path(part.golden->path, Side::input, i);
          input.tensor = files.back().inputs[i];
        }
        inputs.push_back(std::move(input));
      }
    }
    for (std::size_t i = 0; i < std::min(inputs.size(), mine_.inputs.size()); ++i) {
      Row row = new_row(Side::input, i);
      row.golden.path = inputs[i].path;
      if (inputs[i].tensor) {
        add_pair(*inputs[i].tensor, mine_.inputs[i], std::move(row));
      } else {
        row.fail_reason = shapes_differ;
        row.verdict = Verdict::dropped;
        rows_.push_back(std::move(row));
      }
    }
    if (last == nullptr) return;
    const std::vector<DumpTensor>& outputs = files.back().outputs;
    mine_alone_ += mine_.outputs.size() - std::min(outputs.size(), mine_.outputs.size());
    golden_alone_ += outputs.size() - std::min(outputs.size(), mine_.outputs.size());
    for (std::size_t i = 0; i < std::min(outputs.size(), mine_.outputs.size()); ++i) {
      Row row = new_row(Side::output, i);
      row.golden.path = tensor_path(last->path, Side::output, i);
      add_pair(outputs[i], mine_.outputs[i], std::move(row));
    }
  }

  const OpTask& task_;
  Comparer& comparer_;
  GeOpenFile mine_;
  std::vector<Row> rows_;
  std::vector<std::string> damage_;
  std::uint64_t unused_ids_ = 0;
  std::uint64_t mine_alone_ = 0;
  std::uint64_t golden_alone_ = 0;
};

}  // namespace

OpRows compare_op(const OpTask& task, Comparer& comparer) { return OpComparison(task, comparer).run(); }

}  // namespace msrun::torchair
