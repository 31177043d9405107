#include "kernels/io/stored/npz.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/error.h"
#include "kernels/io/files/zip.h"

namespace msrun {
namespace {

constexpr std::string_view member_suffix = ".npy";

template <class T>
void store(std::string& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

constexpr std::uint16_t version = 20;
constexpr std::uint16_t first_day = 0x0021;  // 1980-01-01
constexpr std::uint16_t zip64_field = 1;
constexpr std::uint32_t in_zip64_field = 0xFFFFFFFF;

struct Member {
  std::string name;
  std::uint32_t checksum = 0;
  std::uint64_t size = 0;
  std::uint64_t begin = 0;
};

void append_local_header(std::string& out, const Member& member) {
  store(out, std::uint32_t{0x04034B50});
  store(out, version);
  store(out, std::uint16_t{0});  // flags
  store(out, std::uint16_t{0});  // stored
  store(out, std::uint16_t{0});  // time
  store(out, first_day);
  store(out, member.checksum);
  store(out, static_cast<std::uint32_t>(member.size));
  store(out, static_cast<std::uint32_t>(member.size));
  store(out, static_cast<std::uint16_t>(member.name.size()));
  store(out, std::uint16_t{20});
  out += member.name;
  store(out, zip64_field);
  store(out, std::uint16_t{16});
  store(out, member.size);
  store(out, member.size);
}

void append_directory_entry(std::string& out, const Member& member) {
  store(out, std::uint32_t{0x02014B50});
  store(out, std::uint16_t{0x0314});  // made by version 20 on Unix
  store(out, version);
  store(out, std::uint16_t{0});
  store(out, std::uint16_t{0});
  store(out, std::uint16_t{0});
  store(out, first_day);
  store(out, member.checksum);
  store(out, static_cast<std::uint32_t>(member.size));
  store(out, static_cast<std::uint32_t>(member.size));
  store(out, static_cast<std::uint16_t>(member.name.size()));
  store(out, std::uint16_t{0});  // extra
  store(out, std::uint16_t{0});  // comment
  store(out, std::uint16_t{0});  // disk
  store(out, std::uint16_t{0});  // internal attributes
  store(out, std::uint32_t{0x01800000});
  store(out, static_cast<std::uint32_t>(member.begin));
  out += member.name;
}

}  // namespace

std::vector<NpzMember> read_npz(const InputFile& file, OldChecksums old) {
  try {
    const ZipReader zip(file);
    std::vector<NpzMember> members;
    std::uint64_t checked = 0;
    const auto damaged = [&](const std::string& what) {
      return SkipError("The file " + file.path() + " is damaged: " + what + ".");
    };
    for (const ZipEntry& entry : zip.entries()) {
      NpzMember member;
      member.name = entry.name.ends_with(member_suffix) ? entry.name.substr(0, entry.name.size() - member_suffix.size())
                                                        : entry.name;
      const std::uint64_t begin = zip.data_begin(entry);
      member.header = read_npy_header(file, begin, begin + entry.size);
      // Many members may share their bytes: a small file would then take for ever.
      if (entry.size > file.size() - checked) throw damaged("its members overlap");
      checked += entry.size;
      const bool is_old = old == OldChecksums::accept && member.header.data_bytes == 0 && entry.checksum == 0;
      if (!is_old && !zip.is_sound(entry)) {
        throw damaged("the bytes of its member " + entry.name + " are not those of its checksum");
      }
      members.push_back(std::move(member));
    }
    return members;
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

const NpzMember* find_member(std::span<const NpzMember> members, std::string_view name) {
  const auto found = std::find_if(members.begin(), members.end(), [&](const NpzMember& m) { return m.name == name; });
  return found == members.end() ? nullptr : &*found;
}

std::string npz_bytes(std::span<const NpzArray> arrays) {
  std::string out;
  std::vector<Member> members;
  for (const NpzArray& array : arrays) {
    const std::string header = npy_header_bytes(array.type, array.shape);
    Member member;
    member.name = array.name + std::string(member_suffix);
    member.checksum = crc32(array.data, crc32(std::as_bytes(std::span(header))));
    member.size = header.size() + array.data.size();
    member.begin = out.size();
    if (member.begin + member.size >= in_zip64_field) throw SkipError("An archive of more than 4 GB is not supported.");
    append_local_header(out, member);
    out += header;
    out.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    members.push_back(std::move(member));
  }
  const std::uint64_t directory = out.size();
  for (const Member& member : members) append_directory_entry(out, member);
  const std::uint64_t directory_size = out.size() - directory;
  store(out, std::uint32_t{0x06054B50});
  store(out, std::uint32_t{0});  // disks
  store(out, static_cast<std::uint16_t>(members.size()));
  store(out, static_cast<std::uint16_t>(members.size()));
  store(out, static_cast<std::uint32_t>(directory_size));
  store(out, static_cast<std::uint32_t>(directory));
  store(out, std::uint16_t{0});  // comment
  return out;
}

}  // namespace msrun
