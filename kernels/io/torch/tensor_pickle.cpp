#include "kernels/io/torch/tensor_pickle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>
#include <variant>

#include "kernels/base/error.h"
#include "kernels/io/torch/pickle_format.h"
#include "kernels/tensor/tensor.h"

namespace msrun {
namespace {

enum class Function : std::uint8_t { rebuild_v2, rebuild_v3, rebuild_parameter, rebuild_npu, ordered_dict, npu_format };

struct FunctionName {
  std::string_view module;
  std::string_view name;
  Function function;
};

constexpr std::array function_names{
    FunctionName{"torch._utils", "_rebuild_tensor_v2", Function::rebuild_v2},
    FunctionName{"torch._utils", "_rebuild_tensor_v3", Function::rebuild_v3},
    FunctionName{"torch._utils", "_rebuild_parameter", Function::rebuild_parameter},
    FunctionName{"torch_npu.utils.storage", "_rebuild_npu_tensor", Function::rebuild_npu},
    FunctionName{"collections", "OrderedDict", Function::ordered_dict},
    FunctionName{"torch_npu.npu._format", "Format", Function::npu_format},
};

struct Mark {};
struct Nothing {};  // None, and the npu formats
struct StorageType {
  std::optional<DType> dtype;  // absent: UntypedStorage, counted in bytes
};
struct Storage {
  std::optional<DType> dtype;
  std::string_view key;
  std::int64_t count = 0;
};
// A list or dict. Nothing is known of its contents but whether there are any.
struct Container {
  bool empty = true;
};
struct Tuple;
using Item = std::variant<Mark, Nothing, bool, std::int64_t, std::string_view, DType, Function, StorageType, Storage,
                          std::shared_ptr<Container>, std::shared_ptr<const Tuple>, std::shared_ptr<PickledTensor>>;
struct Tuple {
  std::vector<Item> items;
  int depth = 1;
};
constexpr int max_tuple_depth = 16;

// The rest of a sentence that begins with the file.
struct Refusal {
  std::string clause;
};
[[noreturn]] void refuse(std::string clause) { throw Refusal{std::move(clause)}; }
[[noreturn]] void malformed() { refuse("has a malformed pickle"); }

template <class T>
const T& as(const Item& item) {
  const T* value = std::get_if<T>(&item);
  if (value == nullptr) malformed();
  return *value;
}

std::vector<std::int64_t> integers(const Item& item) {
  std::vector<std::int64_t> values;
  for (const Item& element : as<std::shared_ptr<const Tuple>>(item)->items) values.push_back(as<std::int64_t>(element));
  return values;
}

Item named(std::string_view module, std::string_view name) {
  for (const FunctionName& known : function_names) {
    if (known.module == module && known.name == name) return known.function;
  }
  if ((module == "torch.storage" || module == "torch") && name == "UntypedStorage") return StorageType{};
  if (module == "torch") {
    for (const StorageClass& known : storage_classes) {
      if (known.name == name) return StorageType{known.dtype};
    }
    if (const auto dtype = parse_dtype(name)) return *dtype;
  }
  refuse("uses " + std::string(module) + "." + std::string(name) + ", which is not supported");
}

// ('storage', class, key, location, count); the location does not matter.
Item storage_of(const Item& persistent_id) {
  const std::vector<Item>& parts = as<std::shared_ptr<const Tuple>>(persistent_id)->items;
  if (parts.size() != 5 || as<std::string_view>(parts[0]) != "storage") malformed();
  return Storage{as<StorageType>(parts[1]).dtype, as<std::string_view>(parts[2]), as<std::int64_t>(parts[4])};
}

// (storage, offset, size, stride, requires_grad, hooks[, ...][, metadata])
Item tensor_of(const std::vector<Item>& arguments, std::optional<DType> dtype, std::size_t required,
               std::size_t allowed) {
  if (arguments.size() < required || arguments.size() > allowed) malformed();
  const auto& storage = as<Storage>(arguments[0]);
  if (!dtype) dtype = storage.dtype;
  if (!dtype) malformed();
  const std::size_t unit = storage.dtype ? size_of(*storage.dtype) : 1;
  std::uint64_t bytes = 0;
  if (storage.count < 0 || __builtin_mul_overflow(static_cast<std::uint64_t>(storage.count), unit, &bytes)) {
    malformed();
  }
  // Metadata says that the elements are to be conjugated or negated.
  for (std::size_t i = required; i < arguments.size(); ++i) {
    const auto* metadata = std::get_if<std::shared_ptr<Container>>(&arguments[i]);
    if (metadata != nullptr && !(*metadata)->empty)
      refuse("holds a conjugated or negated view, which is not supported");
  }
  return std::make_shared<PickledTensor>(PickledTensor{*dtype, std::string(storage.key), bytes,
                                                       as<std::int64_t>(arguments[1]), integers(arguments[2]),
                                                       integers(arguments[3])});
}

Item result_of(Function function, const std::vector<Item>& arguments) {
  switch (function) {
    case Function::ordered_dict:
      if (!arguments.empty()) malformed();
      return std::make_shared<Container>();
    case Function::npu_format:
      return Nothing{};
    case Function::rebuild_parameter:
      if (arguments.empty()) malformed();
      return as<std::shared_ptr<PickledTensor>>(arguments[0]);
    case Function::rebuild_v2:
      return tensor_of(arguments, std::nullopt, 6, 7);
    case Function::rebuild_npu:
      return tensor_of(arguments, std::nullopt, 6, 8);
    case Function::rebuild_v3:
      if (arguments.size() < 7) malformed();
      return tensor_of(arguments, as<DType>(arguments[6]), 7, 8);
  }
  malformed();
}

class Machine {
 public:
  explicit Machine(std::string_view pickle) : rest_(pickle) {}

  PickledTensor run() {
    while (step()) {
    }
    const Item result = pop();
    const auto* tensor = std::get_if<std::shared_ptr<PickledTensor>>(&result);
    if (tensor == nullptr || !stack_.empty()) refuse("does not hold a single tensor");
    return **tensor;
  }

 private:
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) malformed();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view line() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) malformed();
    const std::string_view text = take(end);
    take(1);
    return text;
  }

  void push(Item item) { stack_.push_back(std::move(item)); }
  Item pop() {
    if (stack_.empty()) malformed();
    Item item = std::move(stack_.back());
    stack_.pop_back();
    return item;
  }
  // The items above the last mark, which is taken off too.
  std::vector<Item> pop_to_mark() {
    const auto mark = std::find_if(stack_.rbegin(), stack_.rend(),
                                   [](const Item& item) { return std::holds_alternative<Mark>(item); });
    if (mark == stack_.rend()) malformed();
    std::vector<Item> items(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return items;
  }
  std::vector<Item> pop_count(std::size_t count) {
    if (stack_.size() < count) malformed();
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<Item> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    return items;
  }
  void push_tuple(std::vector<Item> items) {
    auto tuple = std::make_shared<Tuple>();
    for (const Item& item : items) {
      if (std::holds_alternative<Mark>(item)) malformed();
      if (const auto* inner = std::get_if<std::shared_ptr<const Tuple>>(&item)) {
        tuple->depth = std::max(tuple->depth, (*inner)->depth + 1);
      }
    }
    if (tuple->depth > max_tuple_depth) malformed();
    tuple->items = std::move(items);
    push(std::shared_ptr<const Tuple>(std::move(tuple)));
  }
  // Notes the new contents, which are off the stack, in the container that is now on top.
  void mark_filled(bool filled) {
    if (stack_.empty()) malformed();
    Container& container = *as<std::shared_ptr<Container>>(stack_.back());
    container.empty = container.empty && !filled;
  }
  void remember(std::uint32_t index) {
    if (stack_.empty()) malformed();
    memo_[index] = stack_.back();
  }
  void recall(std::uint32_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) malformed();
    push(found->second);
  }

  // False after the last instruction.
  bool step() {
    const auto code = number<std::uint8_t>();
    const auto op = static_cast<PickleOp>(code);
    if (op == PickleOp::stop) return false;
    if (!push_constant(op) && !push_tuple_of(op) && !fill_container(op) && !use_memo(op) && !use_name(op)) {
      static constexpr std::string_view digits = "0123456789abcdef";
      refuse(std::string("uses the pickle opcode 0x") + digits[code >> 4] + digits[code & 0xFU] +
             ", which is not supported");
    }
    return true;
  }

  // Each of these carries out an instruction of its group, or returns false.
  bool push_constant(PickleOp op) {
    switch (op) {
      case PickleOp::protocol:
        take(1);
        return true;
      case PickleOp::mark:
        push(Mark{});
        return true;
      case PickleOp::none:
        push(Nothing{});
        return true;
      case PickleOp::new_true:
        push(true);
        return true;
      case PickleOp::new_false:
        push(false);
        return true;
      case PickleOp::int1:
        push(std::int64_t{number<std::uint8_t>()});
        return true;
      case PickleOp::int2:
        push(std::int64_t{number<std::uint16_t>()});
        return true;
      case PickleOp::int4:
        push(std::int64_t{number<std::int32_t>()});
        return true;
      case PickleOp::long1:
        push(long_integer());
        return true;
      case PickleOp::unicode:
        push(take(number<std::uint32_t>()));
        return true;
      default:
        return false;
    }
  }

  bool push_tuple_of(PickleOp op) {
    switch (op) {
      case PickleOp::empty_tuple:
        push_tuple({});
        return true;
      case PickleOp::tuple1:
        push_tuple(pop_count(1));
        return true;
      case PickleOp::tuple2:
        push_tuple(pop_count(2));
        return true;
      case PickleOp::tuple3:
        push_tuple(pop_count(3));
        return true;
      case PickleOp::tuple:
        push_tuple(pop_to_mark());
        return true;
      default:
        return false;
    }
  }

  bool fill_container(PickleOp op) {
    switch (op) {
      case PickleOp::empty_list:
      case PickleOp::empty_dict:
        push(std::make_shared<Container>());
        return true;
      case PickleOp::append:
        pop_count(1);
        mark_filled(true);
        return true;
      case PickleOp::set_item:
        pop_count(2);
        mark_filled(true);
        return true;
      case PickleOp::appends:
      case PickleOp::set_items:
        mark_filled(!pop_to_mark().empty());
        return true;
      case PickleOp::build:  // attributes, such as hooks, say nothing about the elements
        pop_count(1);
        if (stack_.empty()) malformed();
        return true;
      default:
        return false;
    }
  }

  bool use_memo(PickleOp op) {
    switch (op) {
      case PickleOp::get:
        recall(number<std::uint8_t>());
        return true;
      case PickleOp::long_get:
        recall(number<std::uint32_t>());
        return true;
      case PickleOp::put:
        remember(number<std::uint8_t>());
        return true;
      case PickleOp::long_put:
        remember(number<std::uint32_t>());
        return true;
      default:
        return false;
    }
  }

  bool use_name(PickleOp op) {
    switch (op) {
      case PickleOp::global: {
        const std::string_view module = line();
        push(named(module, line()));
        return true;
      }
      case PickleOp::persistent_id:
        push(storage_of(pop()));
        return true;
      case PickleOp::reduce: {
        const Item arguments = pop();
        const Item function = pop();
        push(result_of(as<Function>(function), as<std::shared_ptr<const Tuple>>(arguments)->items));
        return true;
      }
      default:
        return false;
    }
  }

  std::int64_t long_integer() {
    const std::string_view bytes = take(number<std::uint8_t>());
    if (bytes.size() > sizeof(std::int64_t)) refuse("has an integer of more than 64 bits in its pickle");
    const bool negative = !bytes.empty() && (static_cast<std::uint8_t>(bytes.back()) & 0x80U) != 0;
    std::int64_t value = negative ? -1 : 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

  std::string_view rest_;
  std::vector<Item> stack_;
  std::unordered_map<std::uint32_t, Item> memo_;
};

}  // namespace

PickledTensor read_tensor_pickle(std::string_view pickle, const std::string& path) {
  try {
    return Machine(pickle).run();
  } catch (const Refusal& refusal) {
    throw SkipError("The file " + path + " " + refusal.clause + ".");
  }
}

}  // namespace msrun
