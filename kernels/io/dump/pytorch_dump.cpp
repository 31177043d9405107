#include <algorithm>
#include <memory>

#include "kernels/io/dump/dump_dialect.h"

namespace msrun {
namespace {

bool is_of_module(std::string_view entry) { return entry.find("Module") != std::string_view::npos; }

// x[1, 2] and x[[1, 2]] are recorded alike. The first takes away dimensions, the second does not, nor does a list of
// bools: where the recorded output tells that it was a list, it is put into a tuple of its own.
void restore_index_list(std::string_view name, DumpEntry& entry) {
  if (!name.starts_with("Tensor.__getitem__.")) return;
  if (entry.args.size() != 2 || !entry.output_rank) return;
  const auto* tensor = entry.args[0].get<std::shared_ptr<const TensorSpec>>();
  const List* index = entry.args[1].get<List>();
  if (tensor == nullptr || index == nullptr || index->empty()) return;
  const auto all = [&](auto&& is_kind) { return std::all_of(index->begin(), index->end(), is_kind); };
  if (!all([](const Value& item) { return item.is<std::int64_t>(); }) &&
      !all([](const Value& item) { return item.is<bool>(); })) {
    return;
  }
  if (*entry.output_rank == (*tensor)->shape.size()) entry.args[1] = List(1, Value(*index));
}

}  // namespace

const DumpDialect& pytorch_dump() {
  static constexpr DumpDialect dialect{is_of_module, described_value, restore_index_list};
  return dialect;
}

}  // namespace msrun
