#include "kernels/io/graph_engine/ge_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/io/graph_engine/ge_types.h"
#include "kernels/io/stored/narrow_floats.h"
#include "kernels/io/stored/tensor_statistics.h"
#include "tests/support/ge_dump_builder.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Sizes = std::vector<std::int64_t>;
using testing::TemporaryDirectory;

class GeDumpFile : public ::testing::Test {
 protected:
  std::string write(const std::string& bytes) const { return folder_.write("f" + std::to_string(count_++), bytes); }

  // The only input of a dump, in logical order.
  struct Read {
    StoredTensor tensor;
    std::vector<double> values;
  };
  Read read(const DumpTensor& tensor, std::size_t at_once = 7) const {
    const InputFile file(write(ge_dump_bytes({tensor}, {})));
    const GeDump dump = read_ge_dump(file);
    Read result{stored_tensor(dump.inputs.at(0), file.path()), {}};
    TensorReader reader(file, result.tensor);
    std::vector<double> some(at_once);
    while (const std::size_t count = reader.read(std::span(some))) {
      result.values.insert(result.values.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
    }
    EXPECT_EQ(static_cast<std::int64_t>(result.values.size()), result.tensor.count);
    return result;
  }
  std::vector<double> values(const DumpTensor& tensor) const { return read(tensor).values; }

  std::string error(const std::string& bytes) const {
    try {
      const InputFile file(write(bytes));
      for (const GeTensor& tensor : read_ge_dump(file).inputs) stored_tensor(tensor, file.path());
    } catch (const IncompleteFileError& e) {
      return std::string("incomplete: ") + e.what();
    } catch (const SkipError& e) {
      return e.what();
    }
    return "no error";
  }

 private:
  TemporaryDirectory folder_;
  mutable int count_ = 0;
};

// The example of torchair.md 5.
std::string example() {
  const std::string hex =
      "3700000000000000"
      "0a03322e301080d2e5ecb833"
      "1a10080810021a030a01013008"
      "3a030a0101"
      "2210080110021a030a010228083203"
      "0a0102"
      "32054164645f32"
      "0000803f00000040"
      "0300000000000000";
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

TEST_F(GeDumpFile, ReadsTheExampleOfTheFormat) {
  ASSERT_EQ(example().size(), 79);
  const InputFile file(write(example()));
  const GeDump dump = read_ge_dump(file);
  EXPECT_EQ(dump.version, "2.0");
  EXPECT_EQ(dump.dump_time, 1767607200000);
  EXPECT_EQ(dump.op_name, "Add_2");
  EXPECT_EQ(dump.end, file.size());
  ASSERT_EQ(dump.inputs.size(), 1);
  ASSERT_EQ(dump.outputs.size(), 1);
  EXPECT_EQ(dump.inputs[0].data_type, 1);
  EXPECT_THAT(dump.inputs[0].shape, ElementsAre(2));
  EXPECT_THAT(dump.inputs[0].original_shape, ElementsAre(2));
  EXPECT_EQ(dump.inputs[0].begin, 63);
  EXPECT_EQ(dump.outputs[0].begin, 71);
  const StoredTensor output = stored_tensor(dump.outputs[0], file.path());
  EXPECT_EQ(output.type, NumpyType::int64);
  std::vector<double> value(2);
  TensorReader reader(file, output);
  EXPECT_EQ(reader.read(std::span(value)), 1);
  EXPECT_EQ(value[0], 3);
}

TEST_F(GeDumpFile, CallsEveryShorterFileIncomplete) {
  const std::string whole = example();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(error(whole.substr(0, size)), ::testing::StartsWith("incomplete: ")) << size;
  }
  EXPECT_EQ(error(whole), "no error");
  EXPECT_EQ(error(whole + "padding"), "no error");
}

TEST_F(GeDumpFile, SkipsFieldsItDoesNotKnow) {
  std::string further;
  append_bytes(further, 7, "attr");
  append_number(further, 99, 5);
  append_varint(further, 100 << 3 | 1);
  further += std::string(8, 'x');
  append_varint(further, 101 << 3 | 5);
  further += std::string(4, 'x');
  append_varint(further, 102 << 3 | 3);  // a group with another one inside, both with fields of known numbers
  append_bytes(further, 4, "no tensor");
  append_varint(further, 3 << 3 | 3);
  append_varint(further, 3 << 3 | 4);
  append_varint(further, 102 << 3 | 4);
  append_number(further, 3, 1);  // an output whose wire type is that of a number
  const InputFile file(write(ge_dump_bytes({{.shape = {1}, .data = std::string(4, 'x')}}, {}, further)));
  const GeDump dump = read_ge_dump(file);
  EXPECT_EQ(dump.inputs.size(), 1);
  EXPECT_TRUE(dump.outputs.empty());
}

TEST_F(GeDumpFile, CountsBuffersAndWorkspacesBehindTheTensors) {
  std::string size;
  append_number(size, 3, 10);
  std::string further;
  append_bytes(further, 5, size);
  append_bytes(further, 8, size);
  const std::string bytes = ge_dump_bytes({{.shape = {1}, .data = "abcd"}}, {}, further);
  EXPECT_THAT(error(bytes + std::string(19, 'x')), ::testing::StartsWith("incomplete: "));
  EXPECT_EQ(error(bytes + std::string(20, 'x')), "no error");
}

TEST_F(GeDumpFile, RefusesWhatIsNoDump) {
  EXPECT_THAT(error(std::string("\x08\0\0\0\0\0\0\0\x5A\x5A\x5A\x5A\0\0\0\0", 16)), HasSubstr("small devices"));
  EXPECT_THAT(error(std::string("\x02\0\0\0\0\0\0\0\x0A\x7F", 10)), HasSubstr("damaged"));  // a length beyond the end
  EXPECT_THAT(error(std::string("\x01\0\0\0\0\0\0\0\x80", 9)), HasSubstr("damaged"));       // an unfinished number
  EXPECT_THAT(error(std::string("\x01\0\0\0\0\0\0\0\x07", 9)), HasSubstr("damaged"));       // a wire type that is none
  EXPECT_THAT(error(std::string("\x01\0\0\0\0\0\0\0\x1C", 9)), HasSubstr("damaged"));       // a group that only ends
  EXPECT_THAT(error(std::string(100, '\0')), HasSubstr("its description is empty"));
  EXPECT_THAT(error(std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8)), HasSubstr("incomplete"));
  // Sizes whose sum wraps around.
  std::string tensor;
  append_number(tensor, 5, ~std::uint64_t{0} - 4);
  std::string message;
  append_bytes(message, 4, tensor);
  append_bytes(message, 4, tensor);
  EXPECT_THAT(error(bytes_of(std::vector<std::uint64_t>{message.size()}) + message), HasSubstr("damaged"));
}

TEST_F(GeDumpFile, RefusesTensorsThatNeedMoreBytesThanThereAre) {
  const std::string four(4, 'x');
  EXPECT_THAT(error(ge_dump_bytes({{.shape = {2}, .data = four}}, {})), HasSubstr("more elements than bytes"));
  EXPECT_THAT(error(ge_dump_bytes({{.shape = {~std::uint64_t{0}}, .data = four}}, {})), HasSubstr("more elements"));
  EXPECT_THAT(error(ge_dump_bytes({{.shape = {1ULL << 40, 1ULL << 40}, .data = four}}, {})),
              HasSubstr("more elements"));
  EXPECT_THAT(error(ge_dump_bytes({{.shape = std::vector<std::uint64_t>(33, 1), .data = four}}, {})),
              HasSubstr("damaged"));
  EXPECT_EQ(error(ge_dump_bytes({{.shape = {1}, .data = four + "padding"}}, {})), "no error");
}

TEST_F(GeDumpFile, RefusesDataTypesItCannotDecode) {
  for (const std::uint64_t type : {13, 14, 15, 18, 26, 30, 36, 40, 41, 1000}) {
    EXPECT_THAT(error(ge_dump_bytes({{.data_type = type, .shape = {1}, .data = std::string(16, 'x')}}, {})),
                HasSubstr("data type " + std::to_string(type)));
  }
}

TEST_F(GeDumpFile, DecodesEveryDataType) {
  const auto bytes = [](auto... values) { return bytes_of(std::vector{values...}); };
  EXPECT_THAT(values({.data_type = 1, .shape = {2}, .data = bytes(1.5F, -2.0F)}), ElementsAre(1.5, -2));
  EXPECT_THAT(values({.data_type = 2, .shape = {2}, .data = bytes(std::uint16_t{0x3E00}, std::uint16_t{0xC000})}),
              ElementsAre(1.5, -2));
  EXPECT_THAT(values({.data_type = 3, .shape = {1}, .data = "\xFF"}), ElementsAre(-1));
  EXPECT_THAT(values({.data_type = 4, .shape = {1}, .data = "\xFF"}), ElementsAre(255));
  EXPECT_THAT(values({.data_type = 5, .shape = {1}, .data = bytes(std::int16_t{-3})}), ElementsAre(-3));
  EXPECT_THAT(values({.data_type = 6, .shape = {1}, .data = bytes(std::uint16_t{65535})}), ElementsAre(65535));
  EXPECT_THAT(values({.data_type = 7, .shape = {1}, .data = bytes(std::int32_t{-3})}), ElementsAre(-3));
  EXPECT_THAT(values({.data_type = 8, .shape = {1}, .data = bytes(std::int64_t{-3})}), ElementsAre(-3));
  EXPECT_THAT(values({.data_type = 9, .shape = {1}, .data = bytes(std::uint32_t{4000000000})}), ElementsAre(4e9));
  EXPECT_THAT(values({.data_type = 10, .shape = {1}, .data = bytes(std::uint64_t{1} << 63)}), ElementsAre(0x1p63));
  EXPECT_THAT(values({.data_type = 11, .shape = {3}, .data = std::string("\0\1\2", 3)}), ElementsAre(0, 1, 1));
  EXPECT_THAT(values({.data_type = 12, .shape = {1}, .data = bytes(0.1)}), ElementsAre(0.1));
  EXPECT_THAT(values({.data_type = 16, .shape = {1}, .data = bytes(1.0F, 2.0F)}), ElementsAre(1));
  EXPECT_THAT(values({.data_type = 17, .shape = {1}, .data = bytes(1.0, 2.0)}), ElementsAre(1));
  EXPECT_THAT(values({.data_type = 23, .shape = {1}, .data = bytes(std::int64_t{9})}), ElementsAre(9));
  EXPECT_THAT(values({.data_type = 27, .shape = {3}, .data = "\x80\x3F\x49\x40\x20\xC0"}),
              ElementsAre(1, 3.140625, -2.5));
  EXPECT_THAT(values({.data_type = 28, .shape = {5}, .data = "\x21\x8F\x07"}), ElementsAre(1, 2, -1, -8, 7));
  EXPECT_THAT(values({.data_type = 29, .shape = {10}, .data = "\xA0\x40"}), ElementsAre(1, 0, 1, 0, 0, 0, 0, 0, 0, 1));
  EXPECT_EQ(compared_type_name(read({.data_type = 28, .shape = {1}, .data = "x"}).tensor), "torch.int4");
  EXPECT_EQ(compared_type_name(read({.data_type = 6, .shape = {1}, .data = "xx"}).tensor), "torch.int32");
  EXPECT_EQ(compared_type_name(read({.data_type = 27, .shape = {1}, .data = "xx"}).tensor), "torch.float32");
}

TEST_F(GeDumpFile, TakesTheSizeOfTensorsWithoutAType) {
  const Read undefined = read({.data_type = 0, .shape = {7, 7}, .data = "\1\2\3"});
  EXPECT_EQ(undefined.tensor.shape, Sizes({3}));
  EXPECT_THAT(undefined.values, ElementsAre(1, 2, 3));
}

TEST_F(GeDumpFile, ReadsScalarsAndEmptyTensors) {
  const Read scalar = read({.data_type = 7, .shape = {}, .data = bytes_of(std::vector<std::int32_t>{5})});
  EXPECT_TRUE(scalar.tensor.shape.empty());
  EXPECT_THAT(scalar.values, ElementsAre(5));
  const Read empty = read({.data_type = 7, .shape = {3, 0}, .data = ""});
  EXPECT_EQ(empty.tensor.shape, Sizes({3, 0}));
  EXPECT_EQ(empty.tensor.type, NumpyType::float64);
  EXPECT_TRUE(empty.values.empty());
}

TEST(GeTypes, DecodesEightBitFloats) {
  EXPECT_EQ(decode_float8_e4m3fn(0x38), 1);
  EXPECT_EQ(decode_float8_e4m3fn(0x01), 0x1p-9);
  EXPECT_EQ(decode_float8_e4m3fn(0xFE), -448);
  EXPECT_TRUE(std::isnan(decode_float8_e4m3fn(0x7F)));
  EXPECT_TRUE(std::isnan(decode_float8_e4m3fn(0xFF)));
  EXPECT_EQ(decode_float8_e5m2(0x3C), 1);
  EXPECT_EQ(decode_float8_e5m2(0x01), 0x1p-16);
  EXPECT_EQ(decode_float8_e5m2(0x7B), 57344);
  EXPECT_EQ(decode_float8_e5m2(0x7C), INFINITY);
  EXPECT_EQ(decode_float8_e5m2(0xFC), -INFINITY);
  EXPECT_TRUE(std::isnan(decode_float8_e5m2(0x7D)));
  EXPECT_EQ(decode_hifloat8(0x00), 0);
  EXPECT_TRUE(std::isnan(decode_hifloat8(0x80)));
  EXPECT_EQ(decode_hifloat8(0x6F), INFINITY);
  EXPECT_EQ(decode_hifloat8(0xEF), -INFINITY);
  EXPECT_EQ(decode_hifloat8(0x08), 1);
  EXPECT_EQ(decode_hifloat8(0x0C), 1.5);
  EXPECT_EQ(decode_hifloat8(0x01), 0x1p-22);
  EXPECT_EQ(decode_hifloat8(0x6E), 0x1p15);
  // The codes of one sign are ordered as a tapered format has them: every magnitude occurs once.
  std::vector<double> positive;
  for (int bits = 1; bits < 0x80; ++bits) positive.push_back(decode_hifloat8(static_cast<std::uint8_t>(bits)));
  std::sort(positive.begin(), positive.end());
  EXPECT_EQ(std::adjacent_find(positive.begin(), positive.end()), positive.end());
}

// Layouts: `place` says where in memory the element at an index of the logical tensor is.
struct LayoutCase {
  const char* name;
  std::uint64_t format;
  std::vector<std::uint64_t> stored;
  std::vector<std::uint64_t> original;
  Sizes reported;
  Sizes logical;  // of the result, in which `place` counts
  std::function<std::int64_t(const Sizes&)> place;
};

std::vector<LayoutCase> layout_cases() {
  const auto nz = [](std::int64_t c1, std::int64_t n1, std::int64_t n0, std::int64_t c0) {
    return [=](const Sizes& i) {
      const std::int64_t b = i.size() == 3 ? i[0] : 0;
      const std::int64_t n = i[i.size() - 2];
      const std::int64_t c = i[i.size() - 1];
      return (((b * c1 + c / c0) * n1 + n / n0) * n0 + n % n0) * c0 + c % c0;
    };
  };
  return {
      {"NZ", 29, {2, 3, 16, 16}, {40, 20}, {40, 20}, {40, 20}, nz(2, 3, 16, 16)},
      {"NZ, batches", 29, {2, 2, 1, 16, 16}, {2, 10, 20}, {2, 10, 20}, {2, 10, 20}, nz(2, 1, 16, 16)},
      {"NZ of four axes", 29, {2, 3, 2, 1, 16, 16}, {2, 3, 10, 20}, {2, 3, 10, 20}, {6, 10, 20}, nz(2, 1, 16, 16)},
      {"NZ of one axis", 29, {2, 1, 16, 16}, {20}, {20}, {1, 20}, nz(2, 1, 16, 16)},
      {"NZ without padding", 29, {2, 2, 16, 8}, {32, 16}, {32, 16}, {32, 16}, nz(2, 2, 16, 8)},
      {"5HD",
       3,
       {2, 2, 3, 4, 16},
       {2, 20, 3, 4},
       {2, 20, 3, 4},
       {2, 20, 3, 4},
       [](const Sizes& i) { return (((i[0] * 2 + i[1] / 16) * 3 + i[2]) * 4 + i[3]) * 16 + i[1] % 16; }},
      {"FRACTAL_Z",
       4,
       {18, 1, 16, 16},
       {5, 20, 3, 3},
       {5, 20, 3, 3},
       {5, 20, 3, 3},
       [](const Sizes& i) {
         const std::int64_t tile = ((i[1] / 16) * 3 + i[2]) * 3 + i[3];
         return ((tile * 1 + i[0] / 16) * 16 + i[0] % 16) * 16 + i[1] % 16;
       }},
      {"NHWC",
       1,
       {2, 3, 4, 5},
       {2, 5, 3, 4},
       {2, 5, 3, 4},
       {2, 5, 3, 4},
       [](const Sizes& i) { return ((i[0] * 3 + i[2]) * 4 + i[3]) * 5 + i[1]; }},
      {"HWCN",
       16,
       {3, 4, 5, 2},
       {2, 5, 3, 4},
       {2, 5, 3, 4},
       {2, 5, 3, 4},
       [](const Sizes& i) { return ((i[2] * 4 + i[3]) * 5 + i[1]) * 2 + i[0]; }},
      {"6HD",
       32,
       {2, 3, 2, 2, 2, 16},
       {2, 20, 3, 2, 2},
       {2, 20, 3, 2, 2},
       {2, 20, 3, 2, 2},
       [](const Sizes& i) { return ((((i[0] * 3 + i[2]) * 2 + i[1] / 16) * 2 + i[3]) * 2 + i[4]) * 16 + i[1] % 16; }},
  };
}

TEST_F(GeDumpFile, TurnsDeviceLayoutsIntoLogicalTensors) {
  for (const LayoutCase& layout : layout_cases()) {
    SCOPED_TRACE(layout.name);
    const auto stored = static_cast<std::size_t>(
        std::accumulate(layout.stored.begin(), layout.stored.end(), std::uint64_t{1}, std::multiplies<>()));
    std::vector<float> memory(stored, -1e30F);  // padding, which nobody may see
    std::vector<double> expected;
    Sizes index(layout.logical.size());
    float next = 0;
    for (bool more = true; more;) {
      memory.at(static_cast<std::size_t>(layout.place(index))) = next;
      expected.push_back(next++);
      std::size_t k = index.size();
      while (k > 0 && ++index[k - 1] == layout.logical[k - 1]) index[--k] = 0;
      more = k > 0;
    }
    const DumpTensor tensor{
        .format = layout.format, .shape = layout.stored, .original_shape = layout.original, .data = bytes_of(memory)};
    for (const std::size_t at_once : {1, 7, 1000000}) {
      const Read result = read(tensor, at_once);
      EXPECT_EQ(result.tensor.shape, layout.reported);
      EXPECT_EQ(result.values, expected);
    }
    // The range is measured in the order of the memory, without padding.
    const InputFile file(write(ge_dump_bytes({tensor}, {})));
    std::vector<std::byte> buffer(4096 + 64);
    const TensorRange range = measure_range(file, stored_tensor(read_ge_dump(file).inputs[0], file.path()), buffer);
    double smallest = 0;
    double largest = 0;
    load_doubles(range.type, range.smallest.data(), 1, &smallest);
    load_doubles(range.type, range.largest.data(), 1, &largest);
    EXPECT_EQ(smallest, 0);
    EXPECT_EQ(largest, next - 1);
  }
}

TEST_F(GeDumpFile, ReadsDecodedElementsInDeviceLayoutsToo) {
  // int4 in NHWC, bits in HWCN, bfloat16 in NZ: places in memory are counted in elements.
  const Read nibbles = read(
      {.data_type = 28, .format = 1, .shape = {1, 1, 2, 3}, .original_shape = {1, 3, 1, 2}, .data = "\x10\x32\x54"});
  EXPECT_THAT(nibbles.values, ElementsAre(0, 3, 1, 4, 2, 5));
  const Read bits =
      read({.data_type = 29, .format = 16, .shape = {2, 2, 1, 2}, .original_shape = {2, 1, 2, 2}, .data = "\xB1"});
  EXPECT_THAT(bits.values, ElementsAre(1, 1, 0, 0, 0, 1, 0, 1));
  std::vector<std::uint16_t> memory(256);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint16_t>(i);
  memory[1] = 0x3F80;
  const Read half = read(
      {.data_type = 27, .format = 29, .shape = {1, 1, 16, 16}, .original_shape = {1, 2}, .data = bytes_of(memory)});
  EXPECT_THAT(half.values, ElementsAre(0, 1));
}

TEST_F(GeDumpFile, KeepsTheStoredShapeWhereItCannotConvert) {
  const std::string data(256, '\0');
  EXPECT_EQ(read({.format = 2, .shape = {4, 16}, .original_shape = {1, 4, 4, 4}, .data = data}).tensor.shape,
            Sizes({4, 16}));
  // As many batches as the logical shape does not have.
  EXPECT_EQ(read({.format = 29, .shape = {4, 1, 1, 4, 4}, .original_shape = {3, 4, 4}, .data = data}).tensor.shape,
            Sizes({4, 1, 1, 4, 4}));
  // Groups.
  const DumpTensor grouped{
      .format = 4, .shape = {1, 1, 8, 8}, .original_shape = {8, 8, 1, 1}, .data = data, .sub_format = 2};
  EXPECT_EQ(read(grouped).tensor.shape, Sizes({1, 1, 8, 8}));
  EXPECT_EQ(read({.format = 999, .shape = {64}, .original_shape = {8, 8}, .data = data}).tensor.shape, Sizes({64}));
  EXPECT_EQ(
      read({.format = 29, .shape = {1, 1, 8, 8}, .original_shape = {~std::uint64_t{0}, 8}, .data = data}).tensor.shape,
      Sizes({1, 1, 8, 8}));
}

TEST_F(GeDumpFile, ReadsShapesWrittenOneByOne) {
  EXPECT_EQ(read({.shape = {2, 300}, .data = std::string(2400, 'x'), .packed = false}).tensor.shape, Sizes({2, 300}));
}

TEST(GeNames, TakesAFileNameApart) {
  const auto name = parse_ge_file_name("Neg.blk.3.Neg_30.104.3.1767607200053661");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->op_type, "Neg");
  EXPECT_EQ(name->op_name, "blk.3.Neg_30");
  EXPECT_EQ(name->timestamp, "1767607200053661");
  EXPECT_FALSE(name->converted);
  const auto converted = parse_ge_file_name("Add.Add_2.44.3.1767607200053661_min_max.npz");
  ASSERT_TRUE(converted);
  EXPECT_EQ(converted->op_name, "Add_2");
  EXPECT_EQ(converted->timestamp, "1767607200053661");
  EXPECT_TRUE(converted->converted);
  EXPECT_FALSE(parse_ge_file_name("Add.Add_2.44.3"));
  EXPECT_FALSE(parse_ge_file_name("_min_max.npz"));
}

TEST_F(GeDumpFile, ReadsTheMappingOfNames) {
  const InputFile file(write("123,Add.Add_1.1.2.3\r\n\"4,5\",\"a \"\"b\"\"\nc\"\nonly one\n1,2,3\n\n678,last"));
  const NameMapping mapping = read_name_mapping(file);
  EXPECT_THAT(mapping.names, ElementsAre(::testing::Pair("123", "Add.Add_1.1.2.3"),
                                         ::testing::Pair("4,5", "a \"b\"\nc"), ::testing::Pair("678", "last")));
  EXPECT_THAT(mapping.bad_lines, ElementsAre(3, 4));
}

TEST_F(GeDumpFile, ReadsAMappingThatAnEditorSavedAndOneThatIsCutOff) {
  const NameMapping mapping =
      read_name_mapping(InputFile(write("\xEF\xBB\xBF"
                                        "1,Add.a.1.2.3\n2,\"Add.b")));
  EXPECT_THAT(mapping.names, ElementsAre(::testing::Pair("1", "Add.a.1.2.3")));
  EXPECT_THAT(mapping.bad_lines, ElementsAre(2));
}

}  // namespace
}  // namespace msrun
