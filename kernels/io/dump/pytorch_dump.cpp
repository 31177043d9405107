#include <algorithm>
#include <memory>
#include <optional>

#include "kernels/api/operators.h"
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

bool is_unknown(const Value& value) {
  const auto* unsupported = value.get<Unsupported>();
  return unsupported != nullptr && unsupported->is_unknown_object;
}

// Whether some overload of the called operator has a dtype at this place.
bool takes_dtype(std::string_view entry, std::size_t place) {
  std::string_view base;
  if (!split_direction(entry, base)) return false;
  const std::optional<ApiName> name = ApiName::parse(base);
  const Operator* op = name ? find_operator(name->type, name->api) : nullptr;
  return op != nullptr && std::ranges::any_of(op->overloads(), [&](const Overload& overload) {
           const std::vector<Parameter>& parameters = overload.signature.parameters();
           if (place >= parameters.size() || parameters[place].keyword_only) return false;
           return parameters[place].kind == Parameter::Kind::dtype || parameters[place].name == "dtype";
         });
}

// A positional dtype is recorded as {}: it is that of the result. So is the layout that a call names; only tensors of
// the usual one are recorded.
void restore_unknown_objects(std::string_view name, DumpEntry& entry) {
  const std::optional<DType> of_result = parse_dtype(entry.output_dtype);
  for (std::size_t place = 0; of_result && place < entry.args.size(); ++place) {
    if (is_unknown(entry.args[place]) && takes_dtype(name, place)) entry.args[place] = *of_result;
  }
  std::erase_if(entry.kwargs, [](const auto& item) { return item.first == "layout" && is_unknown(item.second); });
}

void restore(std::string_view name, DumpEntry& entry) {
  restore_index_list(name, entry);
  restore_unknown_objects(name, entry);
}

}  // namespace

const DumpDialect& pytorch_dump() {
  static constexpr DumpDialect dialect{is_of_module, described_value, restore};
  return dialect;
}

}  // namespace msrun
