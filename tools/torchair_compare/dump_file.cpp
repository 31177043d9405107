#include "tools/torchair_compare/dump_file.h"

#include <array>
#include <span>
#include <string_view>

#include "kernels/base/error.h"
#include "kernels/io/graph_engine/ge_dump.h"
#include "kernels/io/stored/npz.h"

namespace msrun::torchair {
namespace {

constexpr std::size_t columns = TensorStatistics::column_count;
// Tensors of one side of an operator. Real ones have a few hundred; a damaged file must not fill the memory.
constexpr std::int64_t max_tensors = 65536;

// Row i of an array of statistics, if it is one.
std::optional<TensorStatistics> statistics_row(const InputFile& file, const NpyHeader& header, std::size_t i) {
  if (header.type != NumpyType::float64 || header.fortran_order || header.big_endian ||
      header.data_bytes < (i + 1) * columns * sizeof(double)) {
    return std::nullopt;
  }
  std::array<double, columns> row{};
  file.read_at(header.data_begin + i * sizeof row, std::as_writable_bytes(std::span(row)));
  return TensorStatistics::from_columns(row);
}

// Row i of an array of shape (tensors, 2).
std::vector<DumpTensor> statistics_of(const InputFile& file, const std::vector<NpzMember>& members,
                                      std::string_view name) {
  const NpzMember* member = find_member(members, name);
  if (member == nullptr) throw SkipError("The file " + file.path() + " lacks the array " + std::string(name) + ".");
  const NpyHeader& header = member->header;
  const bool empty = header.data_bytes == 0;
  if (header.fortran_order || (!empty && (header.shape.size() != 2 || header.shape[1] < 2))) {
    throw SkipError("The array " + std::string(name) + " of " + file.path() + " holds no pairs of extremes.");
  }
  if (!empty && header.shape[0] > max_tensors) {
    throw SkipError("The array " + std::string(name) + " of " + file.path() + " describes more than " +
                    std::to_string(max_tensors) + " tensors.");
  }
  std::vector<DumpTensor> tensors;
  if (empty) return tensors;
  const auto width = static_cast<std::uint64_t>(header.shape[1]);
  const NpzMember* more = find_member(members, std::string(name) + "_stats");
  for (std::int64_t i = 0; i < header.shape[0]; ++i) {
    DumpTensor tensor;
    tensor.file = &file;
    tensor.statistics = true;
    tensor.shared_type = true;
    tensor.stored.type = header.type;
    tensor.stored.big_endian = header.big_endian;
    tensor.stored.shape = {2};
    tensor.stored.count = tensor.stored.stored_count = 2;
    tensor.stored.begin = header.data_begin + static_cast<std::uint64_t>(i) * width * size_of(header.type);
    if (more != nullptr) tensor.more = statistics_row(file, more->header, static_cast<std::size_t>(i));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// What follows the two extremes of an .npy file, if anything does (convert_file.h).
std::optional<TensorStatistics> more_of(const InputFile& file, std::uint64_t begin) {
  if (begin >= file.size()) return std::nullopt;
  const NpyHeader header = read_npy_header(file, begin, file.size());
  return statistics_row(file, header, 0);
}

}  // namespace

GeOpenFile open_ge_file(const GeOpFile& name) {
  try {
    GeOpenFile open;
    open.file = std::make_unique<InputFile>(name.path, any_size);
    if (name.converted) {
      const std::vector<NpzMember> members = read_npz(*open.file);
      open.inputs = statistics_of(*open.file, members, "inputs");
      open.outputs = statistics_of(*open.file, members, "outputs");
      return open;
    }
    const GeDump dump = read_ge_dump(*open.file);
    for (const GeTensor& tensor : dump.inputs) {
      open.inputs.push_back({open.file.get(), stored_tensor(tensor, name.path), false, std::nullopt});
    }
    for (const GeTensor& tensor : dump.outputs) {
      open.outputs.push_back({open.file.get(), stored_tensor(tensor, name.path), false, std::nullopt});
    }
    return open;
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

FxOpenFile open_fx_file(const FxTensorFile& name) {
  try {
    FxOpenFile open;
    open.file = std::make_unique<InputFile>(name.path, any_size);
    NpyHeader header;
    try {
      header = read_npy_header(*open.file);
    } catch (const UnsupportedTypeError& error) {
      throw NotNumeric(error.what());
    }
    open.tensor = {open.file.get(), stored_tensor(header), name.converted, std::nullopt};
    if (name.converted && open.tensor.stored.count != 2) {
      throw SkipError("The file " + name.path + " does not hold two extremes.");
    }
    if (name.converted) open.tensor.more = more_of(*open.file, header.data_begin + header.data_bytes);
    return open;
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

}  // namespace msrun::torchair
