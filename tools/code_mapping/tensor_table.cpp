#include "tools/code_mapping/tensor_table.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <unordered_map>

#include "kernels/io/files/csv.h"
#include "kernels/io/files/paths.h"
#include "tools/code_mapping/cells.h"
#include "tools/common/report_file.h"
#include "tools/common/whole_file.h"

namespace msrun::code_mapping {

namespace {

constexpr const char* table_kind = "code_mapping_";
constexpr std::string_view suffix = ".npy";

std::string_view without_suffix(std::string_view name) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

bool is_alias(std::string_view name) {
  const std::string_view stem = without_suffix(name);
  return !stem.empty() && stem.find_first_not_of("0123456789") == std::string_view::npos;
}

// The real names of the files of one folder whose own names were too long.
class Aliases {
 public:
  explicit Aliases(const std::string& folder) : path_(join_path(folder, "mapping.csv")) {
    const std::string bytes = read_whole_file(path_, max_csv_bytes);
    CsvReader reader(bytes, LastRow::may_lack_line_end);
    for (std::vector<std::string> row; reader.next(row);) {
      if (row.size() >= 2) names_[std::string(without_suffix(row[0]))] = row[1];
    }
  }

  const std::string& path() const { return path_; }
  const std::string* find(std::string_view alias) const {
    const auto found = names_.find(std::string(without_suffix(alias)));
    return found == names_.end() ? nullptr : &found->second;
  }

 private:
  std::string path_;
  std::unordered_map<std::string, std::string> names_;  // without their suffix
};

// The operators that files are named after.
class OperatorNames {
 public:
  explicit OperatorNames(const std::function<void(const std::string&)>& warn) : warn_(warn) {}

  // "Default_Add-op0" of ".../Add.Default_Add-op0.0.0.1734008383669918.input.0.DefaultFormat.float32.npy"; empty, with
  // a warning, if the name has no such part.
  std::string of(const std::string& path) {
    std::string name(base_name(path));
    if (is_alias(name)) {
      const Aliases& aliases = aliases_of(path.substr(0, path.size() - name.size()));
      const std::string* real = aliases.find(name);
      if (real == nullptr) {
        warn_("The file name \"" + name + "\" is not in " + aliases.path() + ".");
        return {};
      }
      name = base_name(*real);
    }
    const std::string_view stem = without_suffix(name);
    const std::size_t dot = stem.find('.');
    if (dot == std::string_view::npos) {
      warn_("File name \"" + name + "\" has incorrect format, cannot extract node scope!");
      return {};
    }
    const std::size_t begin = dot + 1;
    return std::string(stem.substr(begin, std::min(stem.find('.', begin), stem.size()) - begin));
  }

 private:
  const Aliases& aliases_of(const std::string& folder) {
    if (folder != folder_ || !aliases_) {
      aliases_.emplace(folder);
      folder_ = folder;
    }
    return *aliases_;
  }

  const std::function<void(const std::string&)>& warn_;
  std::string folder_;
  std::optional<Aliases> aliases_;  // of that folder
};

}  // namespace

TensorTable write_tensor_table(const std::vector<std::string>& files, const Graph& graph, ScopeIndex& index,
                               const std::string& directory, const std::function<void(const std::string&)>& warn) {
  prepare_output_directory(directory);
  TensorTable table;
  OperatorNames names(warn);
  ReportFile report(directory, table_kind);
  report.write("File Path," + std::string(code_stack_title) + "," + std::string(scope_name_title) + "\n");
  for (const std::string& file : files) {
    const std::string name = names.of(file);
    const Node* node = index.find(name);
    table.mapped += node == nullptr ? 0 : 1;
    report.write(foreign_cell(file) + "," + code_stack_cell(graph, node) + "," + scope_name_cell(node) + "\n");
  }
  // A second run within one second takes the next one.
  for (std::time_t when = std::time(nullptr);; ++when) {
    const std::string name = table_kind + timestamp(when) + ".csv";
    if (!report.appear(name)) continue;
    table.path = join_path(directory, name);
    return table;
  }
}

}  // namespace msrun::code_mapping
