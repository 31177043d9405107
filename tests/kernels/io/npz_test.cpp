#include "kernels/io/stored/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <span>

#include "kernels/io/files/zip.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using ::testing::HasSubstr;
using testing::read_file;
using testing::TemporaryDirectory;

class Npz : public ::testing::Test {
 protected:
  std::string write(const std::string& bytes) const { return folder_.write("x.npz", bytes); }
  std::string error(const std::string& bytes) const {
    try {
      read_npz(InputFile(write(bytes)));
    } catch (const SkipError& e) {
      return e.what();
    }
    return "no error";
  }

 private:
  TemporaryDirectory folder_;
};

template <class T>
NpzArray array(std::string name, NumpyType type, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {std::move(name), type, std::move(shape), {bytes.begin(), bytes.end()}};
}

TEST(NpyHeader, IsWhatNumpyWrites) {
  const std::vector<std::int64_t> two{2};
  const std::string bytes = npy_header_bytes(NumpyType::float32, two);
  ASSERT_EQ(bytes.size(), 128);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\0\x76\0", 10));
  EXPECT_EQ(bytes.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }  ");
  EXPECT_EQ(bytes.back(), '\n');
  EXPECT_THAT(npy_header_bytes(NumpyType::boolean, {}),
              HasSubstr("{'descr': '|b1', 'fortran_order': False, 'shape': (), }"));
  EXPECT_THAT(npy_header_bytes(NumpyType::complex128, std::vector<std::int64_t>{0, 7}),
              HasSubstr("'<c16', 'fortran_order': False, 'shape': (0, 7), }"));
}

// The file of another program: numpy.savez.
TEST_F(Npz, WritesTheBytesThatNumpyWrites) {
  const std::string sample = testing::test_data(
      "/torchair/converted/ge_on/msprobe_ge_dump/worldsize1_global_rank0/20260105101501/0/graph_1_0/1/0/"
      "TopKV2.TopK_3.29.2.1767607200010386_min_max.npz");
  const InputFile file(sample);
  const std::vector<NpzMember> members = read_npz(file);
  ASSERT_EQ(members.size(), 2);
  std::vector<NpzArray> arrays;
  for (const NpzMember& member : members) {
    NpzArray copy{member.name, member.header.type, member.header.shape, {}};
    copy.data.resize(member.header.data_bytes);
    TensorReader reader(file, stored_tensor(member.header));
    reader.read(std::span<std::byte>(copy.data));
    arrays.push_back(std::move(copy));
  }
  EXPECT_EQ(members[0].name, "inputs");
  EXPECT_EQ(members[1].name, "outputs");
  EXPECT_EQ(npz_bytes(arrays), read_file(sample));
}

TEST_F(Npz, ReadsBackWhatItWrote) {
  const std::vector<NpzArray> arrays{array("a", NumpyType::int16, {2, 2}, std::vector<std::int16_t>{1, -2, 3, -4}),
                                     array("empty", NumpyType::float64, {0}, std::vector<double>{})};
  const InputFile file(write(npz_bytes(arrays)));
  const std::vector<NpzMember> members = read_npz(file);
  ASSERT_EQ(members.size(), 2);
  EXPECT_EQ(find_member(members, "b"), nullptr);
  const NpzMember* a = find_member(members, "a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->header.shape, (std::vector<std::int64_t>{2, 2}));
  std::vector<float> values(5);
  TensorReader reader(file, stored_tensor(a->header));
  EXPECT_EQ(reader.read(std::span(values)), 4);
  EXPECT_THAT(values, ::testing::ElementsAre(1, -2, 3, -4, 0));
  EXPECT_EQ(find_member(members, "empty")->header.data_bytes, 0);
}

TEST_F(Npz, RefusesDamagedArchives) {
  const std::string whole =
      npz_bytes(std::vector{array("a", NumpyType::uint8, {3}, std::vector<std::uint8_t>{1, 2, 3})});
  EXPECT_EQ(error(whole), "no error");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(error(whole.substr(0, size)), "no error") << size;
  std::string wrong_array = whole;
  wrong_array[wrong_array.find("NUMPY")] = 'X';
  EXPECT_THAT(error(wrong_array), HasSubstr("no numpy file"));
  // An array that states more elements than its member has.
  std::string longer = whole;
  longer.replace(longer.find("(3,)"), 4, "(9,)");
  EXPECT_THAT(error(longer), HasSubstr("truncated"));
}

TEST_F(Npz, HasTheChecksumsOfEmptyArraysToo) {
  const std::string whole = npz_bytes(std::vector{array("empty", NumpyType::float64, {0}, std::vector<double>{})});
  const std::string header = npy_header_bytes(NumpyType::float64, std::vector<std::int64_t>{0});
  const std::uint32_t checksum = crc32(std::as_bytes(std::span(header)));
  EXPECT_EQ(crc32({}, checksum), checksum);
  const InputFile file(write(whole));
  EXPECT_EQ(ZipReader(file).entries().at(0).checksum, checksum);
  EXPECT_EQ(error(whole), "no error");
  // Archives of torchair_convert 0.2 are what is left of their dumps.
  std::string old = whole;
  old.replace(old.find("PK\x01\x02") + 16, 4, 4, '\0');
  EXPECT_EQ(error(old), "no error");
}

TEST_F(Npz, RefusesBytesThatAreNotThoseOfTheirChecksum) {
  const std::string whole = npz_bytes(std::vector{array("a", NumpyType::uint8, {3}, std::vector<std::uint8_t>{1, 2, 3}),
                                                  array("b", NumpyType::uint8, {2}, std::vector<std::uint8_t>{4, 5})});
  std::string changed = whole;
  changed[changed.find("\x04\x05")] ^= 0x40;
  EXPECT_THAT(error(changed), HasSubstr("the bytes of its member b.npy are not those of its checksum"));
  // All members have the bytes of the first one.
  std::vector<NpzArray> same(3, array("a", NumpyType::uint8, {300}, std::vector<std::uint8_t>(300, 7)));
  std::string shared = npz_bytes(same);
  const std::size_t directory = shared.find("PK\x01\x02");
  for (std::size_t at = directory; at != std::string::npos; at = shared.find("PK\x01\x02", at + 1)) {
    shared.replace(at + 42, 4, 4, '\0');
  }
  shared.erase(shared.find("PK\x03\x04", 1), directory - shared.find("PK\x03\x04", 1));
  const auto begin = static_cast<std::uint32_t>(shared.find("PK\x01\x02"));
  std::memcpy(shared.data() + shared.find("PK\x05\x06") + 16, &begin, sizeof begin);
  EXPECT_THAT(error(shared), HasSubstr("its members overlap"));
}

TEST(NumpyTypes, ArePromotedAsNumpyDoes) {
  using enum NumpyType;
  const std::vector<std::tuple<NumpyType, NumpyType, NumpyType>> cases{
      {float16, float32, float32},
      {int16, float32, float32},
      {int32, float32, float64},
      {int64, float16, float64},
      {int64, float32, float64},
      {int8, float16, float16},
      {int16, float16, float32},
      {uint16, float16, float32},
      {boolean, int8, int8},
      {boolean, float16, float16},
      {uint8, int8, int16},
      {int32, int64, int64},
      {uint32, int32, int64},
      {int64, uint64, float64},
      {uint64, int8, float64},
      {complex64, float64, complex128},
      {complex64, float32, complex64},
      {complex64, int64, complex128},
      {complex64, int16, complex64},
      {uint8, int16, int16},
      {uint16, int16, int32},
      {boolean, boolean, boolean},
      {uint64, float32, float64},
  };
  for (const auto& [a, b, result] : cases) {
    EXPECT_EQ(promote(a, b), result) << descr(a) << " " << descr(b);
    EXPECT_EQ(promote(b, a), result) << descr(b) << " " << descr(a);
  }
}

TEST(NumpyTypes, AreKnownByTheirCodes) {
  for (int i = 0; i < numpy_type_count; ++i) {
    const auto type = static_cast<NumpyType>(i);
    EXPECT_EQ(parse_type_code(type_code(type)), type);
    EXPECT_EQ(size_of(type), visit_type(type, [](auto element) { return sizeof(element); }));
  }
  EXPECT_FALSE(parse_type_code("f16"));
}

}  // namespace
}  // namespace msrun
