#include "orchestrator/plan/rank_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/base/digits.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

constexpr int most_levels = 8;
constexpr std::size_t most_entries = 1000000;  // that are looked at
constexpr std::size_t most_ranks = 10000;
constexpr std::string_view recording = "dump.json";

// Like text, but "rank2" before "rank10".
bool in_natural_order(std::string_view a, std::string_view b) {
  const std::string_view all_of_a = a;
  const std::string_view all_of_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const auto number = [](std::string_view& text) {
        text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
        const std::size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
        return std::exchange(text, text.substr(size)).substr(0, size);
      };
      const std::string_view first = number(a);
      const std::string_view second = number(b);
      if (first.size() != second.size()) return first.size() < second.size();
      if (first != second) return first < second;
    } else if (a.front() != b.front()) {
      return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front());
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return all_of_a < all_of_b;
}

std::string rank_name(const fs::path& folder, const fs::path& top) {
  std::string name = without_controls(folder.lexically_relative(top).generic_string());
  // What has a meaning in patterns of --only would not stand for itself there.
  std::ranges::replace_if(
      name, [](char c) { return std::string_view(":,*?[]\\").find(c) != std::string_view::npos; }, '_');
  return name;
}

// The number of a folder that is called "rank3".
std::optional<std::uint32_t> rank_number(std::string_view folder) {
  constexpr std::string_view prefix = "rank";
  if (!folder.starts_with(prefix)) return std::nullopt;
  return parse_number<std::uint32_t>(folder.substr(prefix.size()));
}

class Search {
 public:
  explicit Search(std::string folder) : top_(std::move(folder)) {}

  RankFiles run() {
    visit(top_, 0);
    warn_of(deep_, "folders that lie more than " + std::to_string(most_levels) + " levels down");
    warn_of(again_, "folders that links lead to once more");
    warn_of(ranks_again_, "folders of ranks that are links to those of others");
    warn_of(unreadable_, "folders that cannot be read");
    warn_of_missing();
    require_different_names();
    return std::move(found_);
  }

 private:
  struct Some {
    std::size_t count = 0;
    std::string first;
    void see(const fs::path& path, const std::string& why = {}) {
      if (count++ == 0) first = sanitised(path.string()) + (why.empty() ? "" : " (" + why + ")");
    }
  };

  void warn_of(const Some& folders, const std::string& which) {
    if (folders.count == 0) return;
    found_.warnings.push_back("-api_info " + sanitised(top_.string()) + ": " + which + " are not searched: " +
                              std::to_string(folders.count) + ", the first is " + folders.first + ".");
  }

  // Ranks whose folder is empty, or that other steps have: a recorder that died, or a copy that is not complete. That
  // numbers are left out says nothing, as recorders can be told which ranks to record.
  void warn_of_missing() {
    std::map<std::string, std::set<std::uint32_t>> numbers;  // of ranks, by the folder they are in
    std::set<std::uint32_t> all;
    for (const RankFile& file : found_.files) {
      const std::size_t begin = file.rank.rfind('/') + 1;
      const std::optional<std::uint32_t> number = rank_number(std::string_view(file.rank).substr(begin));
      if (!number) continue;
      numbers[file.rank.substr(0, begin)].insert(*number);
      all.insert(*number);
    }
    for (const auto& [parent, there] : numbers) {
      for (const std::uint32_t number : all) {
        if (!there.contains(number)) lacking_.insert(parent + "rank" + std::to_string(number));
      }
    }
    if (lacking_.empty()) return;
    const auto first = std::ranges::min_element(lacking_, in_natural_order);
    found_.warnings.push_back("-api_info " + sanitised(top_.string()) + ": there is no dump.json of " +
                              std::to_string(lacking_.size()) +
                              (lacking_.size() == 1 ? " rank, " : " ranks, the first is ") + *first + ".");
  }

  void visit(const fs::path& folder, int level) {
    struct stat status {};
    if (stat(folder.c_str(), &status) != 0 || !visited_.emplace(status.st_dev, status.st_ino).second) {
      const bool is_rank = rank_number(folder.filename().string()).has_value();
      return (is_rank ? ranks_again_ : again_).see(folder);
    }
    std::error_code error;
    std::vector<std::string> folders;
    bool is_recording = false;
    fs::directory_iterator entry(folder, error);
    if (error && level == 0) {
      throw UserError("The directory " + sanitised(folder.string()) + " cannot be read: " + error.message() + ".");
    }
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      if (++entries_ > most_entries) {
        throw UserError("-api_info: below " + sanitised(top_.string()) + " there are more than " +
                        std::to_string(most_entries) + " files: name the folder with the ranks of one recording.");
      }
      std::error_code ignored;
      const std::string name = entry->path().filename().string();
      if (name == recording && !entry->is_directory(ignored)) {
        is_recording = true;
        break;
      }
      if (entry->is_directory(ignored)) folders.push_back(name);
    }
    if (is_recording) return add(folder);
    if (error) return unreadable_.see(folder, error.message());
    std::ranges::sort(folders, in_natural_order);
    if (level == most_levels) {
      if (!folders.empty()) deep_.see(folder / folders.front());
      return;
    }
    const std::size_t before = found_.files.size();
    for (const std::string& name : folders) visit(folder / name, level + 1);
    const bool is_rank = level > 0 && rank_number(folder.filename().string()).has_value();
    if (is_rank && found_.files.size() == before) lacking_.insert(rank_name(folder, top_));
  }

  void add(const fs::path& folder) {
    if (found_.files.size() == most_ranks) {
      throw UserError("-api_info: below " + sanitised(top_.string()) + " there are more than " +
                      std::to_string(most_ranks) + " recordings: name the folder of one step.");
    }
    found_.files.push_back({rank_name(folder, top_), (folder / recording).string()});
  }

  void require_different_names() const {
    std::set<std::string_view> names;
    for (const RankFile& file : found_.files) {
      if (names.insert(file.rank).second) continue;
      throw UserError("-api_info: two recordings below " + sanitised(top_.string()) + " would be called " + file.rank +
                      ": rename the folder of one of them.");
    }
  }

  fs::path top_;
  RankFiles found_;
  std::set<std::pair<dev_t, ino_t>> visited_;
  std::size_t entries_ = 0;
  Some deep_;
  Some again_;
  Some ranks_again_;
  Some unreadable_;
  std::set<std::string> lacking_;  // names of ranks
};

}  // namespace

RankFiles find_rank_files(const std::string& folder) { return Search(folder).run(); }

}  // namespace msrun
