// Which room may include from which: the build declares it (cmake/Rooms.cmake), docs/architecture.md says why. The
// build itself refuses a wrong include in a room that it compiles; these tests also see files that no target names, and
// hold the declarations themselves to the order of the layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace fs = std::filesystem;

// Room -> the rooms that it may include from, itself among them.
using Rooms = std::map<std::string, std::set<std::string>>;
// A file, relative to the top of the tree, and the headers that it includes in quotation marks.
using Includes = std::map<std::string, std::vector<std::string>>;

// Reads lines "folder: reachable folders".
Rooms read_rooms(std::istream& lines) {
  Rooms rooms;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::set<std::string>& reachable = rooms[line.substr(0, colon)];
    std::istringstream words(line.substr(colon + 1));
    for (std::string word; words >> word;) reachable.insert(word);
  }
  return rooms;
}

std::vector<std::string> read_includes(std::istream& text) {
  std::vector<std::string> headers;
  for (std::string line; std::getline(text, line);) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const std::size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
    const std::size_t open = line.find('"', word);
    const std::size_t close = line.find('"', open + 1);
    if (open != std::string::npos && close != std::string::npos) {
      headers.push_back(line.substr(open + 1, close - open - 1));
    }
  }
  return headers;
}

Includes read_tree(const std::vector<std::string>& folders) {
  Includes files;
  const fs::path root = source_root();
  for (const std::string& folder : folders) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const fs::path& path = entry.path();
      if (path.extension() != ".h" && path.extension() != ".cpp") continue;
      std::ifstream text(path);
      files[path.lexically_relative(root).string()] = read_includes(text);
    }
  }
  return files;
}

bool below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

// Whether other rooms lie in the folder of this one: it then has only the files of the folder itself.
bool is_flat(const std::string& room, const Rooms& rooms) {
  for (const auto& [other, reachable] : rooms) {
    if (below(other, room)) return true;
  }
  return false;
}

// The room whose folder a file lies in; empty if it lies in none.
std::string room_of(const std::string& file, const Rooms& rooms) {
  const std::string folder = fs::path(file).parent_path().string();
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    if (!rooms.contains(at.string())) continue;
    return at == folder || !is_flat(at.string(), rooms) ? at.string() : std::string();
  }
  return {};
}

bool is_executable(const std::string& file) { return fs::path(file).filename() == "main.cpp"; }

// A sentence for every file without a room and every include that its room may not make. Files named main.cpp are
// executables and belong to no room; they may use every room.
std::vector<std::string> problems_of(const Includes& files, const Rooms& rooms) {
  std::vector<std::string> problems;
  for (const auto& [file, headers] : files) {
    const std::string room = room_of(file, rooms);
    if (room.empty() && !is_executable(file)) problems.push_back(file + " lies in no room.");
    for (const std::string& header : headers) {
      const std::string used = room_of(header, rooms);
      if (used.empty()) {
        problems.push_back(file + " includes " + header + ", which lies in no room.");
      } else if (!room.empty() && !is_executable(file) && !rooms.at(room).contains(used)) {
        problems.push_back(file + " includes " + header + ", but " + room + " does not use " + used + ".");
      }
    }
  }
  return problems;
}

// Pairs of rooms that reach each other.
std::vector<std::string> circles_of(const Rooms& rooms) {
  std::vector<std::string> circles;
  for (const auto& [room, reachable] : rooms) {
    for (const std::string& other : reachable) {
      if (room < other && rooms.contains(other) && rooms.at(other).contains(room)) {
        circles.push_back(room + " and " + other + " reach each other.");
      }
    }
  }
  return circles;
}

struct Layer {
  std::string_view folder;
  int height;
};

// The order of docs/architecture.md. A room reaches no room of a greater height; io lies beside api, compare beside
// evaluate. The rooms of journal and tools have rules of their own.
constexpr Layer layers[] = {
    // clang-format off
    {"kernels/base", 0},
    {"kernels/tensor", 1}, {"kernels/inventory", 1},
    {"kernels/numeric", 2},
    {"kernels/autograd", 3},
    {"kernels/io/dump", 5},  // reads calls, so it lies above api; the other readers do not know them
    {"kernels/api", 4}, {"kernels/io", 4},
    {"kernels/ops", 5},
    {"kernels/fused", 6},
    {"kernels/evaluate", 7}, {"kernels/compare", 7},
    {"runner", 8},
    {"orchestrator", 9},
    // clang-format on
};

const Layer* layer_of(std::string_view room) {
  for (const Layer& layer : layers) {
    if (room == layer.folder || below(room, layer.folder)) return &layer;
  }
  return nullptr;
}

bool is_in(std::string_view room, std::string_view folder) { return room == folder || below(room, folder); }

std::string reach(const std::string& room, const std::string& other, const char* why) {
  return room + " reaches " + other + ": " + why;
}

std::vector<std::string> layer_problems(const std::string& room, const std::string& other) {
  std::vector<std::string> problems;
  if (is_in(room, "journal")) {
    if (!is_in(other, "journal") && other != "kernels/base") {
      problems.push_back(reach(room, other, "the journal knows bytes alone."));
    }
    return problems;
  }
  if (is_in(room, "tools")) {
    if (is_in(other, "orchestrator")) problems.push_back(reach(room, other, "tools do not know the orchestrator."));
    if (is_in(other, "runner") && other != "runner/results" && other != "runner/report" && other != "runner/workers") {
      problems.push_back(reach(room, other, "tools know of the runner its results and the start of workers alone."));
    }
    return problems;
  }
  if (is_in(other, "tools")) problems.push_back(reach(room, other, "only tools use what tools share."));
  if (is_in(other, "journal") || is_in(other, "tools")) return problems;
  const Layer* from = layer_of(room);
  const Layer* to = layer_of(other);
  if (from == nullptr) {
    problems.push_back(room + " has no layer in this test.");
  } else if (to != nullptr && to->height > from->height) {
    problems.push_back(reach(room, other, "that layer lies above it."));
  } else if (to != nullptr && to->height == from->height && to->folder != from->folder) {
    problems.push_back(reach(room, other, "those two lie beside each other."));
  }
  return problems;
}

std::vector<std::string> layer_problems(const Rooms& rooms) {
  std::vector<std::string> problems;
  for (const auto& [room, reachable] : rooms) {
    for (const std::string& other : reachable) {
      if (other == room) continue;
      for (std::string& problem : layer_problems(room, other)) problems.push_back(std::move(problem));
    }
  }
  return problems;
}

Rooms declared_rooms() {
  std::ifstream lines(rooms_file());
  EXPECT_TRUE(lines) << rooms_file();
  return read_rooms(lines);
}

TEST(Rooms, EveryIncludeFollowsTheDeclaredDirection) {
  const Includes files = read_tree({"kernels", "journal", "runner", "orchestrator", "tools"});
  EXPECT_GT(files.size(), 300U);
  EXPECT_THAT(problems_of(files, declared_rooms()), IsEmpty());
}

TEST(Rooms, TestsAndBenchmarksIncludeFromRoomsOrTheirOwnFolder) {
  const Rooms rooms = declared_rooms();
  for (const auto& [file, headers] : read_tree({"tests", "bench"})) {
    const std::string own = file.substr(0, file.find('/'));
    for (const std::string& header : headers) {
      EXPECT_TRUE(below(header, own) || !room_of(header, rooms).empty()) << file << " includes " << header;
      EXPECT_TRUE(fs::exists(fs::path(source_root()) / header)) << file << " includes " << header;
    }
  }
}

TEST(Rooms, NoTwoReachEachOther) { EXPECT_THAT(circles_of(declared_rooms()), IsEmpty()); }

TEST(Rooms, FollowTheOrderOfTheLayers) {
  const Rooms rooms = declared_rooms();
  EXPECT_GT(rooms.size(), 20U);
  EXPECT_THAT(layer_problems(rooms), IsEmpty());
}

// What the tests above would say of trees that are wrong.

TEST(RoomsOfAWrongTree, IncludesAgainstTheDirectionAreFound) {
  std::istringstream lines("low: low\nlow/side: low/side\nhigh: high low\n");
  const Rooms rooms = read_rooms(lines);
  std::istringstream text(
      "#include <vector>\n  # include \"high/a.h\"\n// #include \"high/b.h\"\n#include \"low/c.h\"\n");
  const std::vector<std::string> headers = read_includes(text);
  ASSERT_THAT(headers, ElementsAre("high/a.h", "low/c.h"));
  EXPECT_THAT(problems_of({{"low/a.cpp", headers}}, rooms),
              ElementsAre("low/a.cpp includes high/a.h, but low does not use high."));
  EXPECT_THAT(problems_of({{"high/deep/a.cpp", headers}, {"low/main.cpp", headers}}, rooms), IsEmpty());
  EXPECT_THAT(problems_of({{"low/other/a.cpp", {}}}, rooms), ElementsAre("low/other/a.cpp lies in no room."));
  EXPECT_THAT(problems_of({{"high/a.cpp", {"none/b.h"}}}, rooms),
              ElementsAre("high/a.cpp includes none/b.h, which lies in no room."));
}

TEST(RoomsOfAWrongTree, CirclesAndArrowsUpwardsAreFound) {
  std::istringstream lines(
      "kernels/tensor: kernels/tensor kernels/ops\nkernels/ops: kernels/ops kernels/tensor\njournal: journal "
      "kernels/api\n"
      "tools/a: tools/a runner/device orchestrator runner/results\nkernels/api: kernels/api kernels/io/files\n");
  const Rooms rooms = read_rooms(lines);
  EXPECT_THAT(circles_of(rooms), SizeIs(1));
  EXPECT_THAT(
      layer_problems(rooms),
      ElementsAre(
          "journal reaches kernels/api: the journal knows bytes alone.",
          "kernels/api reaches kernels/io/files: those two lie beside each other.",
          "kernels/tensor reaches kernels/ops: that layer lies above it.",
          "tools/a reaches orchestrator: tools do not know the orchestrator.",
          "tools/a reaches runner/device: tools know of the runner its results and the start of workers alone."));
}

}  // namespace
}  // namespace msrun::testing
