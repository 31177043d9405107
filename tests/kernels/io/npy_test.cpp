#include "kernels/io/numpy/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <fstream>

#include "kernels/io/stored/tensor_file.h"
#include "tests/support/npy_file.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tensor_values.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using ::testing::HasSubstr;
using testing::read_file;
using testing::TemporaryDirectory;
using testing::values;
using testing::write_npy;

class Npy : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }

  std::string write(const std::string& bytes) const { return folder_.write("x.npy", bytes); }
  static std::string file(const std::string& header, const std::string& data, int version = 1) {
    std::string bytes = "\x93NUMPY";
    bytes += static_cast<char>(version);
    bytes += '\0';
    const std::size_t size_bytes = version == 1 ? 2 : 4;
    for (std::size_t i = 0; i < size_bytes; ++i) bytes += static_cast<char>((header.size() >> (8 * i)) & 0xFF);
    return bytes + header + data;
  }
  Tensor read(const std::string& header, const std::string& data, int version = 1) const {
    return read_npy(write(file(header, data, version)));
  }
  std::string error(const std::string& bytes) const {
    const std::string name = write(bytes);
    try {
      read_npy(name);
    } catch (const SkipError& e) {
      std::string text = e.what();
      const std::size_t at = text.find(name);
      return at == std::string::npos ? text : text.replace(at, name.size(), "FILE");
    }
    return "no error";
  }

 private:
  TemporaryDirectory folder_;
};

std::string header(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }  \n";
}

TEST_F(Npy, ReadsFilesOfNumpy) {
  const Tensor floats = read_tensor_file(testing::test_data("/tensors/f4.npy"));
  EXPECT_EQ(floats.dtype(), DType::float32);
  EXPECT_THAT(floats.shape(), ::testing::ElementsAre(3));
  EXPECT_THAT(values(floats), ::testing::ElementsAre(0, 1, 2));
  const Tensor halves = read_npy(testing::test_data("/tensors/f2.npy"));
  EXPECT_EQ(halves.dtype(), DType::float16);
  EXPECT_THAT(halves.shape(), ::testing::ElementsAre(3, 4));
  EXPECT_EQ(halves.item(0), 0.8623046875);        // 0x3AE6
  EXPECT_EQ(halves.item(11), -0.06451416015625);  // 0xAC21
  // Stored column by column: 5.72.., -1.65.., 5.56.. are the first two columns of a (1, 3, 2) array.
  const Tensor fortran = read_npy(testing::test_data("/tensors/fortran_f8.npy"));
  EXPECT_THAT(fortran.shape(), ::testing::ElementsAre(1, 3, 2));
  EXPECT_TRUE(fortran.is_contiguous());
  EXPECT_THAT(values(fortran), ::testing::ElementsAre(5.721562385559082, 3.7546322345733643, -1.6533620357513428,
                                                      -7.178596019744873, 5.566400527954102, 5.001818656921387));
}

TEST_F(Npy, ReadsEveryDtypeAndByteOrder) {
  const auto first = [&](const std::string& descr, const std::string& data) {
    return read(header(descr, "(1,)"), data).item();
  };
  using namespace std::string_literals;
  EXPECT_EQ(first("<i2", "\xFE\xFF"s), -2);
  EXPECT_EQ(first(">i2", "\xFF\xFE"s), -2);
  EXPECT_EQ(first(">i4", "\0\0\1\2"s), 258);
  EXPECT_EQ(first("<i8", "\1\0\0\0\0\0\0\0"s), 1);
  EXPECT_EQ(first(">f8", "\x3F\xF8\0\0\0\0\0\0"s), 1.5);
  EXPECT_EQ(first(">f2", "\x3E\0"s), 1.5);
  EXPECT_EQ(first("|i1", "\xFF"s), -1);
  EXPECT_EQ(first("|u1", "\xFF"s), 255);
  EXPECT_EQ(first("=f4", "\0\0\xC0\x3F"s), 1.5);
  const Tensor complex = read(header(">c8", "()"), "\x3F\x80\0\0\xC0\0\0\0"s);
  EXPECT_EQ(complex.dtype(), DType::complex64);
  EXPECT_EQ(*complex.data<std::complex<float>>(), std::complex<float>(1, -2));
  EXPECT_EQ(read(header("<c16", "(0,)"), "").dtype(), DType::complex128);
  const Tensor booleans = read(header("|b1", "(2, 2)"), "\0\1\2\xFF"s);
  EXPECT_EQ(booleans.dtype(), DType::boolean);
  EXPECT_THAT(std::vector<int>(booleans.data<std::uint8_t>(), booleans.data<std::uint8_t>() + 4),
              ::testing::ElementsAre(0, 1, 1, 1));
}

TEST_F(Npy, ReadsVersionsAndSpellingsOfTheHeader) {
  for (const int version : {1, 2, 3}) {
    EXPECT_THAT(values(read(header("|u1", "(2,)"), "ab", version)), ::testing::ElementsAre('a', 'b'));
  }
  EXPECT_THAT(read("{\"shape\":(2L,1L),\"descr\":\"|u1\",\"fortran_order\":True}", "ab").shape(),
              ::testing::ElementsAre(2, 1));
  EXPECT_EQ(read(header("|u1", "()"), "a").rank(), 0);
  EXPECT_EQ(read(header("<f4", "(3, 0, 2)", "True"), "").numel(), 0);
}

TEST_F(Npy, NamesWhatItRefuses) {
  const auto refused = [&](const std::string& name) {
    try {
      read_tensor_file(std::string(testing::test_data("/tensors/")) + name);
    } catch (const SkipError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(refused("object.npy"), HasSubstr("holds the numpy dtype |O, which is not supported."));
  EXPECT_THAT(refused("text.npy"), HasSubstr("holds the numpy dtype <U5, which is not supported."));
  EXPECT_EQ(error(file(header("<u2", "(1,)"), "ab")),
            "The file FILE holds the numpy dtype <u2, which is not supported.");
  EXPECT_EQ(error(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd")),
            "The file FILE holds a structured numpy dtype, which is not supported.");
  EXPECT_EQ(error(file(header("<f4", "(2,)"), "abcdefg")), "The file FILE is truncated.");
  EXPECT_EQ(error(file(header("<f4", "(1000000000, 1000000000)"), "")), "The file FILE is truncated.");
  EXPECT_THAT(error(file(header("<f4", "(9223372036854775807, 9)"), "")), HasSubstr("too many elements"));
  EXPECT_THAT(error(file(header("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), "abcd")), HasSubstr("16 dimensions"));
  EXPECT_EQ(error("PK\x03\x04 and so on"), "The file FILE is no numpy file.");
  EXPECT_EQ(error(""), "The file FILE is no numpy file.");
  EXPECT_EQ(error(file(header("<f4", "(1,)"), "abcd", 4)),
            "The file FILE has numpy format version 4, which is not supported.");
  const std::string malformed = "The header of FILE is no numpy header.";
  for (const std::string bad : {"", "{}", "{'descr': '<f4'}", "{'descr': <f4}", "{'descr': '<f4", "[1]",
                                "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x"}) {
    EXPECT_EQ(error(file(bad, "abcd")), malformed) << bad;
  }
  std::string cut = file(header("<f4", "(1,)"), "abcd");
  for (std::size_t size = 0; size < cut.size(); ++size) EXPECT_NE(error(cut.substr(0, size)), "no error") << size;
  EXPECT_EQ(error(cut), "no error");
}

TEST_F(Npy, ReadsWhatIsWritten) {
  const std::array<float, 6> numbers{1, 2, 3, 4, 5, 6};
  const Tensor tensor = Tensor::from<float>(DType::float32, std::array<std::int64_t, 2>{2, 3}, numbers).transpose(0, 1);
  for (const DType dtype : {DType::boolean, DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64,
                            DType::float16, DType::float32, DType::float64}) {
    write_npy(path("w.npy"), tensor.to(dtype));
    const Tensor back = read_npy(path("w.npy"));
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(back.shape(), tensor.shape());
    EXPECT_EQ(values(back), values(tensor.to(dtype)));
  }
  write_npy(path("w.npy"), Tensor::scalar(7));
  EXPECT_EQ(read_npy(path("w.npy")).rank(), 0);
}

// numpy itself wrote the file for this array.
TEST_F(Npy, HeadersAreThoseOfNumpy) {
  const std::array<float, 3> numbers{0, 1, 2};
  write_npy(path("w.npy"), Tensor::from<float>(DType::float32, std::array<std::int64_t, 1>{3}, numbers));
  EXPECT_EQ(read_file(path("w.npy")), read_file(testing::test_data("/tensors/f4.npy")));
}

TEST_F(Npy, TensorFilesAreKnownByTheirSuffix) {
  const auto error_of = [](const std::string& name) {
    try {
      read_tensor_file(name);
    } catch (const SkipError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error_of("/none.pt"), "The file path /none.pt does not exist.");
  EXPECT_EQ(error_of("/none.txt"), "The file path /none.txt does not exist.");
  EXPECT_EQ(error_of("/tmp"), "The /tmp should be a file!");
  EXPECT_EQ(error_of(std::string("/tmp\0.pt", 8)), "The file path /tmp");  // what() ends at the zero byte
  std::ofstream(path("x.bin")) << "x";
  EXPECT_EQ(error_of(path("x.bin")), "The file: " + path("x.bin") + " is not a pt or numpy file.");
}

}  // namespace
}  // namespace msrun
