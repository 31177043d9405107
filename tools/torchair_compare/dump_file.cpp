#include "tools/torchair_compare/dump_file.h"

#include <array>
#include <string_view>

#include "kernels/error.h"
#include "kernels/io/ge_dump.h"
#include "kernels/io/npz.h"

namespace msrun::torchair {
namespace {

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
  std::vector<DumpTensor> tensors;
  if (empty) return tensors;
  const auto columns = static_cast<std::uint64_t>(header.shape[1]);
  for (std::int64_t i = 0; i < header.shape[0]; ++i) {
    DumpTensor tensor;
    tensor.file = &file;
    tensor.statistics = true;
    tensor.stored.type = header.type;
    tensor.stored.big_endian = header.big_endian;
    tensor.stored.shape = {2};
    tensor.stored.count = tensor.stored.stored_count = 2;
    tensor.stored.begin = header.data_begin + static_cast<std::uint64_t>(i) * columns * size_of(header.type);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Whether the header of an .npy file names a dtype of objects or texts.
bool is_not_numeric(const InputFile& file) {
  std::array<char, 256> text{};
  const std::size_t size = std::min<std::uint64_t>(file.size(), text.size());
  file.read_at(0, std::as_writable_bytes(std::span(text)).first(size));
  const std::string_view header(text.data(), size);
  constexpr std::string_view key = "'descr': '";
  const std::size_t at = header.find(key);
  if (!header.starts_with("\x93NUMPY") || at == std::string_view::npos) return false;
  const std::string_view type = header.substr(at + key.size());
  const std::size_t kind = type.find_first_not_of("<>|=");
  return kind != std::string_view::npos && std::string_view("OUSaVMm").find(type[kind]) != std::string_view::npos;
}

}  // namespace

GeOpenFile open_ge_file(const GeOpFile& name) {
  try {
    GeOpenFile open;
    open.file = std::make_unique<InputFile>(name.path);
    if (name.converted) {
      const std::vector<NpzMember> members = read_npz(*open.file);
      open.inputs = statistics_of(*open.file, members, "inputs");
      open.outputs = statistics_of(*open.file, members, "outputs");
      return open;
    }
    const GeDump dump = read_ge_dump(*open.file);
    for (const GeTensor& tensor : dump.inputs) {
      open.inputs.push_back({open.file.get(), stored_tensor(tensor, name.path), false});
    }
    for (const GeTensor& tensor : dump.outputs) {
      open.outputs.push_back({open.file.get(), stored_tensor(tensor, name.path), false});
    }
    return open;
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

FxOpenFile open_fx_file(const FxTensorFile& name) {
  try {
    FxOpenFile open;
    open.file = std::make_unique<InputFile>(name.path);
    NpyHeader header;
    try {
      header = read_npy_header(*open.file);
    } catch (const SkipError& error) {
      if (is_not_numeric(*open.file)) throw NotNumeric(error.what());
      throw;
    }
    open.tensor = {open.file.get(), stored_tensor(header), name.converted};
    if (name.converted && open.tensor.stored.count != 2) {
      throw SkipError("The file " + name.path + " does not hold two extremes.");
    }
    return open;
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

}  // namespace msrun::torchair
