#include "tools/parse/tensor_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/io/graph_engine/ge_dump.h"
#include "kernels/io/numpy/npy_header.h"
#include "kernels/io/stored/npz.h"
#include "kernels/io/torch/pt_file.h"

namespace msrun::parse {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr std::array<std::string_view, 3> suffixes{".pt", ".npz", ".npy"};

std::string stored_name(const StoredTensor& tensor) {
  constexpr std::array<std::string_view, 7> encodings{"",     "bfloat16", "float8_e4m3fn", "float8_e5m2", "hifloat8",
                                                      "int4", "bit"};
  if (tensor.encoding != Encoding::plain) return std::string(encodings[static_cast<std::size_t>(tensor.encoding)]);
  constexpr std::array<std::string_view, numpy_type_count> types{
      "bool",  "int8",   "uint8",   "int16",   "uint16",  "int32",     "uint32",
      "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"};
  return std::string(types[static_cast<std::size_t>(tensor.type)]);
}

// The type of the same name; narrow floats that NumPy lacks have none.
std::optional<NumpyType> numpy_type(DType dtype) {
  for (int i = 0; i < numpy_type_count; ++i) {
    const auto type = static_cast<NumpyType>(i);
    if (tensor_dtype(type) == dtype) return type;
  }
  return std::nullopt;
}

}  // namespace

bool is_tensor_file(std::string_view name) {
  return std::ranges::any_of(suffixes, [&](std::string_view suffix) { return name.ends_with(suffix); }) ||
         (parse_ge_file_name(name) && !name.ends_with(".csv") && !name.ends_with(".json") && !name.ends_with(".txt"));
}

void TensorSource::read(const std::function<void(std::span<const std::byte>)>& take) const {
  if (file_ == nullptr) {
    if (tensor_.numel() > 0) take({tensor_.raw(), tensor_.bytes()});
    return;
  }
  TensorReader reader(*file_, stored_);
  std::vector<std::byte> buffer(block_bytes);
  while (const std::size_t count = reader.read(std::span(buffer))) {
    take(std::span<const std::byte>(buffer).first(count * size_of(type)));
  }
}

Tensor TensorSource::whole() const {
  if (file_ == nullptr) return loaded_;
  const std::optional<DType> known = tensor_dtype(type);
  if (!known) throw SkipError("torch has no tensors of " + dtype + "; .npy files (-t npy) have.");
  Tensor tensor(*known, Dims(shape.begin(), shape.end()));
  auto* target = tensor.mutable_data<std::byte>();
  read([&](std::span<const std::byte> elements) { target = std::ranges::copy(elements, target).out; });
  return stored_.encoding == Encoding::bfloat16 ? tensor.to(DType::bfloat16) : tensor;
}

TensorFile::TensorFile(const std::string& path) {
  try {
    // Others are read block by block.
    file_ = std::make_unique<InputFile>(path, path.ends_with(".pt") ? max_input_bytes : any_size);
    if (path.ends_with(".pt")) {
      read_pt_file();
    } else if (path.ends_with(".npz")) {
      read_npz_file();
    } else if (path.ends_with(".npy")) {
      add("", stored_tensor(read_npy_header(*file_)));
    } else {
      read_ge_file();
    }
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

void TensorFile::add(std::string name, const StoredTensor& stored) {
  TensorSource& tensor = tensors_.emplace_back();
  tensor.name = std::move(name);
  tensor.dtype = stored_name(stored);
  tensor.shape = stored.shape;
  tensor.type = stored.type;
  tensor.file_ = file_.get();
  tensor.stored_ = stored;
}

void TensorFile::read_pt_file() {
  const Tensor tensor = read_pt(*file_);
  TensorSource& source = tensors_.emplace_back();
  source.dtype = name(tensor.dtype());
  source.shape.assign(tensor.shape().begin(), tensor.shape().end());
  const std::optional<NumpyType> type = numpy_type(tensor.dtype());
  source.type = type.value_or(NumpyType::float32);
  source.loaded_ = tensor.contiguous();
  source.tensor_ = type ? source.loaded_ : source.loaded_.to(DType::float32);
}

void TensorFile::read_npz_file() {
  for (const NpzMember& member : read_npz(*file_)) add(member.name, stored_tensor(member.header));
}

void TensorFile::read_ge_file() {
  const GeDump dump = read_ge_dump(*file_);
  for (const auto& [side, tensors] : {std::pair("input", &dump.inputs), {"output", &dump.outputs}}) {
    for (std::size_t i = 0; i < tensors->size(); ++i) {
      add(std::string(side) + "." + std::to_string(i), stored_tensor((*tensors)[i], file_->path()));
    }
  }
}

void StatisticsSum::add(NumpyType type, std::span<const std::byte> elements) {
  constexpr std::size_t at_once = 2048;
  std::array<double, at_once> values;
  const std::size_t size = size_of(type);
  for (std::size_t first = 0; first < elements.size() / size; first += at_once) {
    const std::size_t count = std::min(at_once, elements.size() / size - first);
    load_doubles(type, elements.data() + first * size, count, values.data());
    for (std::size_t i = 0; i < count; ++i) {
      const double value = values[i];
      if (std::isnan(value)) ++seen_.nan_count;
      if (std::isinf(value)) ++seen_.infinity_count;
      if (seen_.count == 0) seen_.smallest = seen_.largest = value;
      seen_.smallest = std::min(seen_.smallest, value);
      seen_.largest = std::max(seen_.largest, value);
      sum_ += value;
      squares_ += value * value;
      ++seen_.count;
    }
  }
}

Statistics StatisticsSum::result() const {
  Statistics result = seen_;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (seen_.nan_count > 0 || seen_.count == 0) result.smallest = result.largest = nan;
  result.mean = seen_.count == 0 ? nan : sum_ / static_cast<double>(seen_.count);
  result.l2_norm = std::sqrt(squares_);
  return result;
}

}  // namespace msrun::parse
