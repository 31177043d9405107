#include "kernels/io/torch/pt_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>

#include "kernels/io/dump/dump_json.h"
#include "kernels/io/files/zip.h"
#include "kernels/io/stored/tensor_file.h"
#include "kernels/io/torch/tensor_pickle.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tensor_values.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read_file;
using ::testing::StartsWith;
using testing::TemporaryDirectory;
using testing::values;

const std::string dump_folder = testing::test_data("/dumps/zoo_tensor_small/");

// A pickle put together from its opcodes, as torch's pickler would write it.
struct Pickle {
  std::string storage_type = "ctorch\nFloatStorage\n";
  std::string function = "ctorch._utils\n_rebuild_tensor_v2\n";
  int count = 6;
  std::string offset = std::string("K\0", 2);
  std::vector<std::int64_t> shape{2, 3};
  std::vector<std::int64_t> strides{3, 1};
  std::string extra;  // more arguments
  std::string after;  // between the call and the end

  static std::string integer(std::int64_t value) {
    std::string text = "\x8A\x08";
    for (int i = 0; i < 8; ++i) text += static_cast<char>((value >> (8 * i)) & 0xFF);
    return text;
  }
  static std::string unicode(const std::string& text) {
    return "X" + std::string(1, static_cast<char>(text.size())) + std::string(3, '\0') + text;
  }
  static std::string tuple(const std::vector<std::int64_t>& numbers) {
    std::string text = "(";
    for (const std::int64_t number : numbers) text += integer(number);
    return text + "t";
  }
  std::string text() const {
    return "\x80\x02" + function + "((" + unicode("storage") + storage_type + unicode("0") + unicode("npu:0") +
           integer(count) + "tQ" + offset + tuple(shape) + tuple(strides) + "\x89" + "ccollections\nOrderedDict\n)R" +
           extra + "tR" + after + ".";
  }
};

class PtFile : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }

  std::string archive(const std::string& pickle, const std::string& data, const std::string& byte_order = "",
                      std::uint64_t large = 0xFFFFFFFF) const {
    const std::string name = path("x.pt");
    OutputFile file(name);
    ZipWriter zip(file, large);
    const auto add = [&](const std::string& entry, const std::string& bytes) {
      zip.add("anything/" + entry, std::as_bytes(std::span(bytes)));
    };
    add("data.pkl", pickle);
    if (!byte_order.empty()) add("byteorder", byte_order);
    add("data/0", data);
    add("version", "3\n");
    zip.finish();
    file.close();
    return name;
  }
  static std::string floats(std::initializer_list<float> numbers) {
    std::string bytes(numbers.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), numbers.begin(), bytes.size());
    return bytes;
  }
  static inline const std::string six = floats({0, 1, 2, 3, 4, 5});

  std::string error(const std::string& name) const {
    try {
      read_pt(name);
    } catch (const SkipError& e) {
      std::string text = e.what();
      const std::size_t at = text.find(name);
      return at == std::string::npos ? text : text.replace(at, name.size(), "FILE");
    }
    return "no error";
  }
  std::string error(const Pickle& pickle) const { return error(archive(pickle.text(), six)); }
  // In memory: the tests do this thousands of times.
  std::string error_of_bytes(const std::string& bytes) const {
    const int descriptor = ::memfd_create("pt", MFD_CLOEXEC);
    EXPECT_EQ(::write(descriptor, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    const std::string message = error("/proc/self/fd/" + std::to_string(descriptor));
    ::close(descriptor);
    return message;
  }

 private:
  TemporaryDirectory folder_;
};

// The dump says of every tensor what its dtype, shape and extrema are.
TEST_F(PtFile, ReadsTheTensorsOfARealDump) {
  std::set<DType> dtypes;
  int zero_dimensional = 0;
  const auto check = [&](const Value& value) {
    const auto* spec = value.get<std::shared_ptr<const TensorSpec>>();
    if (spec == nullptr) return;
    const TensorSpec& recorded = **spec;
    const Tensor tensor = read_tensor_file(dump_folder + ("dump_tensor_data/" + recorded.data_name));
    dtypes.insert(tensor.dtype());
    zero_dimensional += tensor.rank() == 0;
    EXPECT_EQ(torch_name(tensor.dtype()), recorded.dtype);
    EXPECT_EQ(std::vector<std::int64_t>(tensor.shape().begin(), tensor.shape().end()), recorded.shape);
    const std::vector<double> elements = values(tensor);
    EXPECT_EQ(*std::max_element(elements.begin(), elements.end()), recorded.max.value());
    EXPECT_EQ(*std::min_element(elements.begin(), elements.end()), recorded.min.value());
  };
  DumpReader reader(std::string(dump_folder) + "dump.json");
  reader.read([&](std::string_view, DumpEntry&& entry) {
    for_each_leaf(entry.args, check);
    for_each_leaf(entry.kwargs, check);
    for_each_leaf(entry.grad_inputs, check);
  });
  EXPECT_THAT(dtypes, ElementsAre(DType::boolean, DType::int32, DType::int64, DType::float16, DType::bfloat16,
                                  DType::float32, DType::float64));
  const Tensor all = read_pt(std::string(dump_folder) + "dump_tensor_data/Torch.all.0.forward.output.0.pt");
  EXPECT_EQ(all.rank(), 0);
  EXPECT_EQ(all.dtype(), DType::boolean);
}

TEST_F(PtFile, GathersStridedTensors) {
  Pickle pickle;
  EXPECT_THAT(values(read_pt(archive(pickle.text(), six))), ElementsAre(0, 1, 2, 3, 4, 5));
  pickle.shape = {3, 2};
  pickle.strides = {1, 3};
  const Tensor transposed = read_pt(archive(pickle.text(), six));
  EXPECT_THAT(transposed.shape(), ElementsAre(3, 2));
  EXPECT_TRUE(transposed.is_contiguous());
  EXPECT_THAT(values(transposed), ElementsAre(0, 3, 1, 4, 2, 5));
  pickle.offset = "K\x02";
  pickle.shape = {2};
  pickle.strides = {3};
  EXPECT_THAT(values(read_pt(archive(pickle.text(), six))), ElementsAre(2, 5));
  pickle.shape = {};
  pickle.strides = {};
  const Tensor scalar = read_pt(archive(pickle.text(), six));
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.item(), 2);
  pickle.shape = {0, 3};
  pickle.strides = {3, 1};
  EXPECT_EQ(read_pt(archive(pickle.text(), six)).numel(), 0);
  // Expanded: the same elements over and over, in no more memory than the file has.
  pickle.shape = {1'000'000'000, 2};
  pickle.strides = {0, 3};
  const Tensor expanded = read_pt(archive(pickle.text(), six), any_repeated);
  EXPECT_EQ(expanded.numel(), 2'000'000'000);
  EXPECT_THAT(values(expanded.slice(0, 999'999'998, 2)), ElementsAre(2, 5, 2, 5));
}

TEST_F(PtFile, RefusesTensorsThatRepeatTheirElementsTooOften) {
  Pickle pickle;
  pickle.strides = {0, 3};
  pickle.shape = {1 << 27, 2};
  EXPECT_EQ(read_pt(archive(pickle.text(), six)).numel(), std::int64_t{1} << 28);
  pickle.shape = {(1 << 27) + 1, 2};
  EXPECT_EQ(error(pickle),
            "The file FILE describes 268435458 elements by repeating the 4 that it holds; of those no more than 1024 "
            "MiB are read.");
}

TEST_F(PtFile, ReadsTheOtherWaysTorchRebuilds) {
  Pickle parameter;
  parameter.function = "ctorch._utils\n_rebuild_parameter\n(" + parameter.function;
  parameter.after =
      "\x88"
      "ccollections\nOrderedDict\n)RtR}b";
  EXPECT_THAT(values(read_pt(archive(parameter.text(), six))), ElementsAre(0, 1, 2, 3, 4, 5));

  Pickle npu;
  npu.function = "ctorch_npu.utils.storage\n_rebuild_npu_tensor\n";
  npu.extra = "ctorch_npu.npu._format\nFormat\nK\x02\x85R";
  EXPECT_THAT(values(read_pt(archive(npu.text(), six))), ElementsAre(0, 1, 2, 3, 4, 5));
  npu.extra = "\x88";
  EXPECT_THAT(values(read_pt(archive(npu.text(), six))), ElementsAre(0, 1, 2, 3, 4, 5));

  Pickle float8;
  float8.function = "ctorch._utils\n_rebuild_tensor_v3\n";
  float8.storage_type = "ctorch.storage\nUntypedStorage\n";
  float8.extra = "ctorch\nfloat8_e5m2\n}";
  float8.count = 2;
  float8.shape = {2};
  float8.strides = {1};
  const Tensor narrow = read_pt(archive(float8.text(), "\x3C\xC0", "little"));
  EXPECT_EQ(narrow.dtype(), DType::float8_e5m2);
  EXPECT_THAT(values(narrow), ElementsAre(1, -2));

  Pickle boolean;
  boolean.storage_type = "ctorch\nBoolStorage\n";
  const Tensor normalised = read_pt(archive(boolean.text(), std::string("\0\1\2\0\1\xFF", 6)));
  EXPECT_EQ(std::string(normalised.data<char>(), 6), std::string("\0\1\1\0\1\1", 6));
}

TEST_F(PtFile, RefusesEverythingButOneTensor) {
  const auto with = [&](auto change) {
    Pickle pickle;
    change(pickle);
    return error(pickle);
  };
  EXPECT_EQ(error(archive("\x80\x02"
                          "cos\nsystem\n" +
                              Pickle::unicode("ls") + "\x85R.",
                          six)),
            "The file FILE uses os.system, which is not supported.");
  EXPECT_EQ(error(archive("\x80\x02"
                          "c__builtin__\neval\n.",
                          six)),
            "The file FILE uses __builtin__.eval, which is not supported.");
  EXPECT_EQ(with([](Pickle& p) { p.storage_type = "ctorch\nQInt8Storage\n"; }),
            "The file FILE uses torch.QInt8Storage, which is not supported.");
  EXPECT_EQ(with([](Pickle& p) { p.after = "\x81"; }),
            "The file FILE uses the pickle opcode 0x81, which is not supported.");
  EXPECT_EQ(with([](Pickle& p) { p.after = "0"; }),
            "The file FILE uses the pickle opcode 0x30, which is not supported.");
  EXPECT_EQ(with([](Pickle& p) { p.extra = "}" + Pickle::unicode("conj") + "\x88s"; }),
            with([](Pickle& p) { p.extra = "}(" + Pickle::unicode("conj") + "\x88u"; }));
  EXPECT_EQ(error(archive("\x80\x02}.", six)), "The file FILE does not hold a single tensor.");
  EXPECT_EQ(error(archive("\x80\x02K\x01.", six)), "The file FILE does not hold a single tensor.");
  EXPECT_EQ(error(archive("\x80\x02", six)), "The file FILE has a malformed pickle.");
  EXPECT_EQ(error(archive("", six)), "The file FILE has a malformed pickle.");
  EXPECT_EQ(error(archive("\x80\x02(((t.", six)), "The file FILE does not hold a single tensor.");
  EXPECT_EQ(error(archive("\x80\x02)" + std::string(100'000, '\x85') + ".", six)),
            "The file FILE has a malformed pickle.");
  EXPECT_EQ(error(archive(std::string(2 << 20, ')') + ".", six)), "The file FILE has a data.pkl of more than 1 MiB.");
  EXPECT_EQ(with([](Pickle& p) { p.extra = "NNNN"; }), "The file FILE has a malformed pickle.");
}

TEST_F(PtFile, ChecksSizesBeforeItReads) {
  const auto with = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::int64_t offset = 0) {
    Pickle pickle;
    pickle.shape = std::move(shape);
    pickle.strides = std::move(strides);
    pickle.offset = Pickle::integer(offset);
    return error(pickle);
  };
  const std::string exceeds = "The file FILE describes a tensor that exceeds its storage.";
  const std::string impossible = "The file FILE describes a tensor with impossible sizes or strides.";
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(with({6}, {1}), "no error");
  EXPECT_EQ(with({7}, {1}), exceeds);
  EXPECT_EQ(with({6}, {1}, 1), exceeds);
  EXPECT_EQ(with({1}, {1}, huge), exceeds);
  EXPECT_EQ(with({2}, {huge}), exceeds);
  EXPECT_EQ(with({3, 3, 3}, {huge, huge, huge}), impossible);
  EXPECT_EQ(with({2}, {-1}, 3), impossible);
  EXPECT_EQ(with({2}, {1}, -1), impossible);
  EXPECT_EQ(with({2}, {1, 1}), impossible);
  EXPECT_EQ(with({-2}, {1}), "The file FILE describes no tensor: Shape [-2] has a negative size.");
  EXPECT_THAT(with({huge, huge}, {0, 0}),
              ::testing::AllOf(StartsWith("The file FILE "), HasSubstr("too many elements")));
  Pickle claims;
  claims.count = 5;
  EXPECT_EQ(error(claims), exceeds);
  EXPECT_EQ(error(archive(Pickle{}.text(), six.substr(1))), exceeds);
  EXPECT_EQ(error(archive(Pickle{}.text(), six, "big")), "The file FILE is not little-endian.");
}

TEST_F(PtFile, RefusesDamagedArchives) {
  const std::string whole = read_file(archive(Pickle{}.text(), six));
  EXPECT_EQ(error_of_bytes(whole), "no error");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(error_of_bytes(whole.substr(0, size)), "no error") << size;
  // Any byte changed: a tensor or a SkipError, never a crash or any other exception.
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned value : {0x00U, 0x01U, 0x7FU, 0xFFU}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      error_of_bytes(changed);
    }
  }
  EXPECT_EQ(error_of_bytes("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."),
            "The file FILE is in the format of torch before 1.6; load and save it again with a newer torch.");
  EXPECT_EQ(error_of_bytes("hello"), "The file FILE is no torch tensor file.");
  EXPECT_EQ(error_of_bytes(""), "The file FILE is no torch tensor file.");
  std::string compressed = whole;
  for (std::size_t at = compressed.find("PK\x01\x02"); at != std::string::npos;
       at = compressed.find("PK\x01\x02", at + 1)) {
    compressed[at + 10] = 8;
  }
  EXPECT_EQ(error_of_bytes(compressed),
            "The file FILE is no readable ZIP archive: its entry anything/data.pkl is compressed or encrypted.");
  // A comment may follow the archive.
  std::string commented = whole + "more";
  commented[whole.size() - 2] = 4;
  EXPECT_EQ(error_of_bytes(commented), "no error");
}

TEST_F(PtFile, KnowsWhetherItsBytesAgreeWithItsChecksums) {
  const std::string path = archive(Pickle{}.text(), six);
  EXPECT_FALSE(contradicts_its_checksums(path));
  std::string changed = read_file(path);
  changed[changed.find(six) + 5] ^= 0x40;
  std::ofstream(path, std::ios::binary) << changed;
  EXPECT_TRUE(contradicts_its_checksums(path));
  EXPECT_EQ(read_pt(path).numel(), 6);
  std::ofstream(path, std::ios::binary) << "hello";
  EXPECT_FALSE(contradicts_its_checksums(path));
  EXPECT_FALSE(contradicts_its_checksums(path + ".missing"));
}

TEST_F(PtFile, LargeArchivesUseZip64Fields) {
  EXPECT_THAT(values(read_pt(archive(Pickle{}.text(), six, "little", 1))), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(PtFile, WritesWhatItReads) {
  const std::array<float, 6> numbers{0, 1, 2, 3, 4, 5};
  const Tensor tensor = Tensor::from<float>(DType::float32, std::array<std::int64_t, 2>{2, 3}, numbers).transpose(0, 1);
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    const Tensor converted = tensor.to(dtype);
    write_pt(path("Torch.add.0.forward.output.bench.0.pt"), converted);
    const Tensor back = read_pt(path("Torch.add.0.forward.output.bench.0.pt"));
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(back.shape(), tensor.shape());
    EXPECT_EQ(values(back), values(converted));
  }
  write_pt(path("s.pt"), Tensor::scalar(DType::float64, 0.1));
  EXPECT_EQ(read_pt(path("s.pt")).item(), 0.1);
  const Tensor empty(DType::int64, {0, 70000});
  write_pt(path("e.pt"), empty);
  EXPECT_EQ(read_pt(path("e.pt")).shape(), empty.shape());
  EXPECT_THROW(write_pt(path("none/w.pt"), tensor), FileError);
}

// All but the memo instructions is what torch itself wrote; the entries have torch's names, order and checksums.
TEST_F(PtFile, WritesTorchsLayout) {
  const std::string name = "Torch.mm.0.forward.input.0.pt";
  const std::string original = dump_folder + ("dump_tensor_data/" + name);
  write_pt(path(name), read_pt(original));
  const auto listing = [](const std::string& file_name) {
    const InputFile file(file_name);
    const ZipReader zip(file);
    std::vector<std::string> lines;
    for (const ZipEntry& entry : zip.entries()) {
      std::string bytes(entry.size, '\0');
      file.read_at(zip.data_begin(entry), std::as_writable_bytes(std::span(bytes)));
      EXPECT_EQ(zip.data_begin(entry) % 64, 0U);
      EXPECT_EQ(entry.checksum, crc32(std::as_bytes(std::span(bytes))));
      if (entry.name.ends_with("data.pkl")) continue;
      lines.push_back(entry.name + " " + std::to_string(entry.checksum) + " " + bytes);
    }
    return lines;
  };
  EXPECT_EQ(listing(path(name)), listing(original));
  EXPECT_EQ(listing(original).size(), 2U);
  EXPECT_EQ(crc32(std::as_bytes(std::span("123456789", 9))), 0xCBF43926U);
}

}  // namespace
}  // namespace msrun
