#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "kernels/io/torch/pickle_format.h"
#include "kernels/io/torch/tensor_pickle.h"
#include "kernels/tensor/tensor.h"

namespace msrun {
namespace {

class Writer {
 public:
  Writer& op(PickleOp code) {
    out_ += static_cast<char>(code);
    return *this;
  }
  Writer& text(std::string_view value) {
    op(PickleOp::unicode);
    raw(static_cast<std::uint32_t>(value.size()));
    out_ += value;
    return *this;
  }
  Writer& global(std::string_view module, std::string_view name) {
    op(PickleOp::global);
    out_.append(module).append("\n").append(name).append("\n");
    return *this;
  }
  Writer& integer(std::int64_t value) {
    if (value >= 0 && value <= std::numeric_limits<std::uint8_t>::max()) {
      op(PickleOp::int1);
      raw(static_cast<std::uint8_t>(value));
    } else if (value >= 0 && value <= std::numeric_limits<std::uint16_t>::max()) {
      op(PickleOp::int2);
      raw(static_cast<std::uint16_t>(value));
    } else if (value >= 0 && value <= std::numeric_limits<std::int32_t>::max()) {
      op(PickleOp::int4);
      raw(static_cast<std::int32_t>(value));
    } else {
      op(PickleOp::long1);
      raw(std::uint8_t{sizeof(value)});
      raw(value);
    }
    return *this;
  }
  Writer& integers(std::span<const std::int64_t> values) {
    op(PickleOp::mark);
    for (const std::int64_t value : values) integer(value);
    return op(PickleOp::tuple);
  }
  template <class T>
  void raw(T value) {
    std::array<char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(T));
    out_.append(bytes.data(), bytes.size());
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace

std::string write_tensor_pickle(DType dtype, const std::vector<std::int64_t>& shape) {
  const auto* typed = std::find_if(storage_classes.begin(), storage_classes.end(),
                                   [&](const StorageClass& known) { return known.dtype == dtype; });
  const bool has_class = typed != storage_classes.end();
  const std::int64_t count = element_count(shape);
  Writer pickle;
  pickle.op(PickleOp::protocol).raw(std::uint8_t{2});
  pickle.global("torch._utils", has_class ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3").op(PickleOp::mark);
  pickle.op(PickleOp::mark).text("storage");
  if (has_class) {
    pickle.global("torch", typed->name);
  } else {
    pickle.global("torch.storage", "UntypedStorage");
  }
  // An untyped storage is counted in bytes; the dtypes without a class of their own have one byte per element.
  pickle.text("0").text("cpu").integer(has_class ? count : count * static_cast<std::int64_t>(size_of(dtype)));
  pickle.op(PickleOp::tuple).op(PickleOp::persistent_id);
  pickle.integer(0).integers(shape).integers(row_major_strides(shape)).op(PickleOp::new_false);
  pickle.global("collections", "OrderedDict").op(PickleOp::empty_tuple).op(PickleOp::reduce);
  if (!has_class) pickle.global("torch", name(dtype));
  pickle.op(PickleOp::tuple).op(PickleOp::reduce).op(PickleOp::stop);
  return pickle.take();
}

}  // namespace msrun
