#include "tools/torchair_convert/convert_file.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/io/graph_engine/ge_dump.h"
#include "kernels/io/numpy/npy_header.h"
#include "kernels/io/stored/npz.h"
#include "kernels/io/stored/tensor_statistics.h"

namespace msrun::convert {
namespace {

constexpr auto column_count = static_cast<std::int64_t>(TensorStatistics::column_count);

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TensorStatistics measure(const InputFile& source, const StoredTensor& tensor, Statistics statistics,
                         std::span<std::byte> buffer) {
  if (tensor.count == 0) {
    throw NothingToConvertError("The file " + source.path() + " holds a tensor without elements.");
  }
  if (statistics == Statistics::full) return measure_statistics(source, tensor, buffer);
  TensorStatistics result;
  result.range = measure_range(source, tensor, buffer);
  return result;
}

void check_length(const InputFile& source, std::uint64_t stated) {
  if (source.size() == stated) return;
  throw IncompleteFileError("The file " + source.path() + " has " + std::to_string(source.size()) +
                            " bytes and states " + std::to_string(stated) + ".");
}

std::string converted_fx(const InputFile& source, Statistics statistics, std::span<std::byte> buffer) {
  NpyHeader header;
  try {
    header = read_npy_header(source);
  } catch (const UnsupportedTypeError& error) {
    throw NothingToConvertError(error.what());
  }
  check_length(source, header.data_begin + header.data_bytes);
  const TensorStatistics measured = measure(source, stored_tensor(header), statistics, buffer);
  const std::size_t size = size_of(header.type);
  const std::int64_t two = 2;
  std::string bytes = npy_header_bytes(header.type, {&two, 1});
  bytes += text_of(std::span(measured.range.smallest).first(size));
  bytes += text_of(std::span(measured.range.largest).first(size));
  if (statistics == Statistics::full) {
    // numpy.load reads the first array of a file; whoever knows of the second goes on.
    bytes += npy_header_bytes(NumpyType::float64, {&column_count, 1});
    const auto columns = measured.columns();
    bytes += text_of(std::as_bytes(std::span(columns)));
  }
  return bytes;
}

// All tensors of one side: an array of [min, max] rows in the type that holds all of them, and one of statistics.
struct Side {
  NpzArray ranges;
  NpzArray statistics;
};

Side measure_side(const std::string& name, const InputFile& source, const std::vector<GeTensor>& tensors,
                  Statistics statistics, std::span<std::byte> buffer) {
  std::vector<TensorRange> ranges;
  Side side;
  for (const GeTensor& tensor : tensors) {
    const TensorStatistics measured = measure(source, stored_tensor(tensor, source.path()), statistics, buffer);
    ranges.push_back(measured.range);
    const auto columns = measured.columns();
    const auto bytes = std::as_bytes(std::span(columns));
    side.statistics.data.insert(side.statistics.data.end(), bytes.begin(), bytes.end());
  }
  const auto count = static_cast<std::int64_t>(ranges.size());
  side.statistics.name = name + "_stats";
  side.statistics.type = NumpyType::float64;
  side.statistics.shape = {count, column_count};
  side.ranges.name = name;
  side.ranges.type = ranges.empty() ? NumpyType::float64 : ranges.front().type;
  for (const TensorRange& range : ranges) side.ranges.type = promote(side.ranges.type, range.type);
  side.ranges.shape = ranges.empty() ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{count, 2};
  for (const TensorRange& range : ranges) {
    for (const ElementBytes& element : {range.smallest, range.largest}) {
      const ElementBytes converted = convert_element(range.type, element, side.ranges.type);
      const auto bytes = std::span(converted).first(size_of(side.ranges.type));
      side.ranges.data.insert(side.ranges.data.end(), bytes.begin(), bytes.end());
    }
  }
  return side;
}

std::string converted_ge(const InputFile& source, Statistics statistics, std::span<std::byte> buffer) {
  const GeDump dump = read_ge_dump(source);
  check_length(source, dump.end);
  if (dump.inputs.empty() && dump.outputs.empty()) {
    throw NothingToConvertError("The file " + source.path() + " holds no tensors.");
  }
  Side inputs = measure_side("inputs", source, dump.inputs, statistics, buffer);
  Side outputs = measure_side("outputs", source, dump.outputs, statistics, buffer);
  std::vector<NpzArray> arrays{std::move(inputs.ranges), std::move(outputs.ranges)};
  if (statistics == Statistics::full) {
    arrays.push_back(std::move(inputs.statistics));
    arrays.push_back(std::move(outputs.statistics));
  }
  return npz_bytes(arrays);
}

}  // namespace

std::string converted_bytes(const InputFile& source, SourceKind kind, Statistics statistics,
                            std::span<std::byte> buffer) {
  return kind == SourceKind::fx ? converted_fx(source, statistics, buffer) : converted_ge(source, statistics, buffer);
}

void check_converted(const InputFile& converted, SourceKind kind) {
  if (kind == SourceKind::fx) {
    read_npy_header(converted);
    return;
  }
  const std::vector<NpzMember> members = read_npz(converted, OldChecksums::refuse);
  for (const char* name : {"inputs", "outputs"}) {
    if (find_member(members, name) == nullptr) {
      throw SkipError("The file " + converted.path() + " lacks the array " + name + ".");
    }
  }
}

}  // namespace msrun::convert
