#include "kernels/io/torch/pt_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/io/files/zip.h"
#include "kernels/io/torch/tensor_pickle.h"
#include "kernels/tensor/storage_bytes.h"

namespace msrun {
namespace {

constexpr std::uint64_t max_pickle = std::uint64_t{1} << 20;
constexpr std::string_view zip_start = "PK";
// A pickle of protocol 2 that begins with the integer 0x1950a86a20f9469cfc6c.
constexpr std::string_view old_format_start = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

std::string read_text(const InputFile& file, const ZipReader& archive, const ZipEntry& entry) {
  const std::uint64_t begin = archive.data_begin(entry);
  std::string text(entry.size, '\0');
  file.read_at(begin, std::as_writable_bytes(std::span(text)));
  return text;
}

// Elements of storage from the tensor's first to its last, both included; 0 if it has none. Nothing if the numbers make
// no sense.
std::optional<std::uint64_t> span_of(const PickledTensor& tensor) {
  if (tensor.shape.size() != tensor.strides.size() || tensor.offset < 0) return std::nullopt;
  if (element_count(tensor.shape) == 0) return 0;
  std::uint64_t last = 0;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    std::uint64_t reach = 0;
    if (tensor.strides[axis] < 0 ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(tensor.shape[axis] - 1),
                               static_cast<std::uint64_t>(tensor.strides[axis]), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return std::nullopt;
    }
  }
  if (last == UINT64_MAX) return std::nullopt;
  return last + 1;
}

// root is the name of the file, from which torch takes that of the folder in the archive.
void write_archive(OutputFile& file, std::string root, const Tensor& tensor) {
  const Tensor row_major = tensor.contiguous();
  if (root.ends_with(".pt")) root.resize(root.size() - 3);
  if (root.empty()) root = "archive";
  const std::vector<std::int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  const std::string pickle = write_tensor_pickle(tensor.dtype(), shape);
  static constexpr std::string_view version = "3\n";

  ZipWriter archive(file);
  archive.add(root + "/data.pkl", std::as_bytes(std::span(pickle)));
  archive.add(root + "/data/0", {row_major.raw(), row_major.bytes()});
  archive.add(root + "/version", std::as_bytes(std::span(version)));
  archive.finish();
  file.close();
}

}  // namespace

namespace {

// Errors of the described tensor itself do not name the file.
Tensor read_described(const InputFile& file, std::uint64_t most) try {
  const auto refuse = [&](const std::string& clause) {
    return SkipError("The file " + file.path() + " " + clause + ".");
  };
  std::array<char, old_format_start.size()> start{};
  const std::size_t start_size = std::min<std::uint64_t>(file.size(), start.size());
  file.read_at(0, std::as_writable_bytes(std::span(start).first(start_size)));
  const std::string_view seen(start.data(), start_size);
  if (seen == old_format_start) {
    throw refuse("is in the format of torch before 1.6; load and save it again with a newer torch");
  }
  if (!seen.starts_with(zip_start)) throw refuse("is no torch tensor file");

  const ZipReader archive(file);
  static constexpr std::string_view pickle_suffix = "/data.pkl";
  const auto& entries = archive.entries();
  const auto pickle = std::find_if(entries.begin(), entries.end(),
                                   [](const ZipEntry& entry) { return entry.name.ends_with(pickle_suffix); });
  if (pickle == entries.end()) throw refuse("has no data.pkl");
  const std::string root = pickle->name.substr(0, pickle->name.size() - pickle_suffix.size());
  if (pickle->size > max_pickle) throw refuse("has a data.pkl of more than 1 MiB");
  if (const ZipEntry* order = archive.find(root + "/byteorder")) {
    if (order->size > 16 || read_text(file, archive, *order) != "little") throw refuse("is not little-endian");
  }
  const PickledTensor described = read_tensor_pickle(read_text(file, archive, *pickle), file.path());
  const std::optional<std::uint64_t> span = span_of(described);
  if (!span) throw refuse("describes a tensor with impossible sizes or strides");
  if (*span == 0) return {described.dtype, described.shape};

  const ZipEntry* storage = archive.find(root + "/data/" + described.storage_key);
  if (storage == nullptr) throw refuse("lacks the entry data/" + described.storage_key);
  const std::size_t element = size_of(described.dtype);
  const std::uint64_t begin = archive.data_begin(*storage);
  const std::uint64_t available = std::min(described.storage_size, storage->size) / element;
  const auto offset = static_cast<std::uint64_t>(described.offset);
  if (offset > available || *span > available - offset) throw refuse("describes a tensor that exceeds its storage");

  const auto count = static_cast<std::int64_t>(*span);
  Tensor elements(described.dtype, {count});
  const std::span data(elements.mutable_data<std::byte>(), elements.bytes());
  file.read_at(begin + offset * element, data);
  if (described.dtype == DType::boolean) normalize_booleans(data);
  const Tensor view = elements.with_strides(described.shape, described.strides, 0);
  if (view.numel() <= count) return view.contiguous();
  if (static_cast<std::uint64_t>(view.numel()) > most / element) {
    throw refuse("describes " + std::to_string(view.numel()) + " elements by repeating the " + std::to_string(count) +
                 " that it holds; of those no more than " + std::to_string(most >> 20) + " MiB are read");
  }
  return view;
} catch (const FileError& error) {
  throw SkipError(error.what());
}

}  // namespace

Tensor read_pt(const InputFile& file, std::uint64_t most) try {
  return read_described(file, most);
} catch (const SkipError& error) {
  const std::string what = error.what();
  if (what.find(file.path()) != std::string::npos) throw;
  throw SkipError("The file " + file.path() + " describes no tensor: " + what);
}

Tensor read_pt(const std::string& path, std::uint64_t most) {
  try {
    return read_pt(InputFile(path), most);
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

bool contradicts_its_checksums(const std::string& path) try {
  const InputFile file(path);
  const ZipReader archive(file);
  return !std::ranges::all_of(archive.entries(), [&](const ZipEntry& entry) { return archive.is_sound(entry); });
} catch (const std::runtime_error&) {
  return false;
}

void write_pt(const std::string& path, const Tensor& tensor) {
  OutputFile file(path);
  write_archive(file, path.substr(path.rfind('/') + 1), tensor);
}

void write_pt(const Folder& folder, const std::string& name, const Tensor& tensor) {
  OutputFile file(folder, name);
  write_archive(file, name, tensor);
}

}  // namespace msrun
