#include "tools/parse/command.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/results_on_stdout.h"
#include "kernels/base/text.h"
#include "kernels/io/files/csv.h"
#include "kernels/io/files/entries.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/numpy/npy_header.h"
#include "kernels/io/torch/pt_file.h"
#include "tools/parse/tensor_source.h"

namespace msrun::parse {
namespace {

namespace fs = std::filesystem;

constexpr int most_levels = 32;

// A file to be read, and what its name is below the directory that was given.
struct Input {
  std::string path;
  std::string below;
  std::string problem = {};  // why it is not even opened
};

using Row = std::vector<std::string>;

// Why what has the name of a file cannot be one; empty for files, and where only an attempt to open it tells. A pipe is
// not opened, because that would be noticed by whoever writes into it.
std::string problem_of(const fs::directory_entry& entry) {
  std::error_code ignored;
  const fs::file_status status = entry.status(ignored);
  if (status.type() == fs::file_type::not_found) return "The link " + entry.path().string() + " leads to nothing.";
  const bool is_other = fs::exists(status) && !fs::is_regular_file(status);
  return is_other ? "The " + entry.path().string() + " should be a file!" : "";
}

// All that has the name of a file of tensors in a directory and below it, whether or not it can be read.
class Search {
 public:
  explicit Search(const std::string& directory) : directory_(directory) {
    std::vector<std::pair<fs::path, int>> open{{directory, 0}};
    while (!open.empty()) {
      const auto [folder, level] = std::move(open.back());
      open.pop_back();
      std::error_code error;
      for (const fs::directory_entry& entry : entries_of(folder, error)) {
        std::error_code ignored;
        if (!entry.is_directory(ignored)) {
          add(entry);
        } else if (entry.is_symlink(ignored)) {
          see_link(entry.path());
        } else if (level < most_levels) {
          open.emplace_back(entry.path(), level + 1);
        } else {
          too_deep_ = true;
        }
      }
      if (error) see_unread(folder, error);
    }
    if (too_deep_) {
      left_out_.push_back("What lies more than " + std::to_string(most_levels) + " levels below " + directory_ +
                          " was not looked at.");
    }
    std::ranges::sort(inputs_, {}, &Input::below);
    std::ranges::sort(left_out_);
  }

  const std::vector<Input>& inputs() const { return inputs_; }  // by name
  // What was not looked at, a sentence each.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  void add(const fs::directory_entry& entry) {
    const fs::path& path = entry.path();
    if (!is_tensor_file(path.filename().string())) return;
    inputs_.push_back({path.string(), path.lexically_relative(directory_).string(), problem_of(entry)});
  }

  // Links to directories are not followed. What lies in the directory itself is found without them.
  void see_link(const fs::path& link) {
    std::error_code error;
    const fs::path inside = fs::canonical(link, error).lexically_relative(fs::canonical(directory_, error));
    if (!error && !inside.empty() && *inside.begin() != "..") return;
    left_out_.push_back("The link " + link.string() + " to a directory was not followed.");
  }

  void see_unread(const fs::path& folder, const std::error_code& error) {
    const std::string problem = "The directory " + folder.string() + " cannot be read: " + error.message() + ".";
    if (folder == directory_) throw UserError(sanitised(problem));
    left_out_.push_back(problem);
  }

  const std::string& directory_;
  std::vector<Input> inputs_;
  std::vector<std::string> left_out_;
  bool too_deep_ = false;
};

// The sign of a NaN says nothing.
std::string number(double value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string_view stem_of(std::string_view file) {
  for (const std::string_view suffix : {".pt", ".npz", ".npy"}) {
    if (file.ends_with(suffix)) file.remove_suffix(suffix.size());
  }
  return file;
}

// The name of an array may hold anything.
std::string harmless(std::string name) {
  for (char& c : name) {
    if (c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '_';
  }
  return name;
}

std::string file_name(const Input& input, const TensorSource& tensor, FileType type) {
  const std::string file = fs::path(input.below).filename().string();
  return std::string(stem_of(file)) + (tensor.name.empty() ? "" : "." + harmless(tensor.name)) +
         (type == FileType::pt ? ".pt" : ".npy");
}

class Parser {
 public:
  explicit Parser(const Options& options) : options_(options) {
    if (!options_.out_path.empty()) directory_.emplace(options_.out_path);
  }

  // Adds the rows of a file; one with the reason where it cannot be read.
  void add(const Input& input) {
    try {
      if (!input.problem.empty()) throw SkipError(input.problem);
      const TensorFile file(input.path);
      for (const TensorSource& tensor : file.tensors()) rows_.push_back(row_of(input, tensor));
    } catch (const SkipError& error) {
      rows_.push_back({input.below, "", "", "", ""});
      problem(error.what());
    } catch (const std::bad_alloc&) {
      rows_.push_back({input.below, "", "", "", ""});
      problem("The file " + input.path + " needs more memory than there is.");
    }
  }

  const std::vector<Row>& rows() const { return rows_; }
  const std::optional<std::string>& first_problem() const { return first_problem_; }
  // Whether there is a tensor about which there is nothing to complain.
  bool has_success() const {
    return std::ranges::any_of(rows_, [](const Row& row) { return row.back().empty(); });
  }

  Row titles() const {
    Row titles{"File", "Tensor", "Dtype", "Shape", "Written to"};
    if (options_.statistics) {
      for (const char* title : {"Min", "Max", "Mean", "L2 norm", "NaN", "Inf"}) titles.emplace_back(title);
    }
    titles.emplace_back("Message");
    return titles;
  }

 private:
  // The last row gets it as its message.
  void problem(const std::string& text) {
    rows_.back().resize(titles().size() - 1);
    rows_.back().push_back(bounded(readable(text)));
    if (!first_problem_) first_problem_ = text;
  }

  Row row_of(const Input& input, const TensorSource& tensor) {
    Row row{input.below, harmless(tensor.name), tensor.dtype, tuple_text(tensor.shape), ""};
    std::string message;
    StatisticsSum sum;
    try {
      if (!options_.out_path.empty()) {
        row[4] = write(input, tensor, sum);
      } else if (options_.statistics) {
        tensor.read([&](std::span<const std::byte> elements) { sum.add(tensor.type, elements); });
      }
    } catch (const SkipError& error) {
      message = error.what();
    } catch (const WriteError& error) {
      message = error.what();
    } catch (const FileError& error) {
      message = error.what();
    }
    if (options_.statistics && message.empty()) add_statistics(row, sum.result());
    row.resize(titles().size() - 1);
    row.push_back(bounded(readable(message)));
    if (!message.empty() && !first_problem_) first_problem_ = message;
    return row;
  }

  static void add_statistics(Row& row, const Statistics& statistics) {
    for (const double value : {statistics.smallest, statistics.largest, statistics.mean, statistics.l2_norm}) {
      row.push_back(number(value));
    }
    row.push_back(std::to_string(statistics.nan_count));
    row.push_back(std::to_string(statistics.infinity_count));
  }

  // Files that are there are never replaced.
  std::string write(const Input& input, const TensorSource& tensor, StatisticsSum& sum) const {
    const std::string directory = fs::path(input.below).parent_path().string();
    Folder folder(options_.out_path);
    for (const fs::path& part : fs::path(directory)) folder = folder.subfolder(part.string());
    const std::string name = file_name(input, tensor, options_.type);
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(folder.path_of(name), ignored))) {
      throw WriteError("The file " + folder.path_of(name) + " is there already and is not replaced.");
    }
    if (options_.type == FileType::pt) {
      write_pt(folder, name, tensor.whole());
      if (options_.statistics)
        tensor.read([&](std::span<const std::byte> elements) { sum.add(tensor.type, elements); });
      return folder.path_of(name);
    }
    AtomicFile file(folder, name);
    file.write(npy_header_bytes(tensor.type, tensor.shape));
    tensor.read([&](std::span<const std::byte> elements) {
      file.write({reinterpret_cast<const char*>(elements.data()), elements.size()});
      if (options_.statistics) sum.add(tensor.type, elements);
    });
    file.commit();
    return folder.path_of(name);
  }

  const Options& options_;
  std::optional<PreparedDirectory> directory_;
  std::vector<Row> rows_;
  std::optional<std::string> first_problem_;
};

std::string csv_text(const Row& titles, const std::vector<Row>& rows) {
  std::string text;
  const auto add = [&](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      // A number with a sign is no formula. Names stay whole, behind an apostrophe, which spreadsheets take for the
      // mark of a text.
      const bool is_number = parse_number<double>(row[i]).has_value();
      append_csv_field(text, !is_number && is_formula(row[i]) ? marked_as_text(row[i]) : row[i]);
    }
    text += csv_row_end;
  };
  add(titles);
  for (const Row& row : rows) add(row);
  return text;
}

// Columns without any text are left out.
std::string table_text(const Row& titles, const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(titles.size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i].empty()) widths[i] = std::max({widths[i], display_width(row[i]), titles[i].size()});
    }
  }
  std::string text;
  const auto add = [&](const Row& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::string cell = sanitised(row[i]);
      line += cell + std::string(widths[i] - std::min(widths[i], display_width(cell)) + 2, ' ');
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add(titles);
  for (const Row& row : rows) add(row);
  return text;
}

void warn_of(const std::vector<std::string>& left_out) {
  for (const std::string& sentence : left_out) std::cerr << "parse: warning: " << sanitised(sentence) << '\n';
}

}  // namespace

int run(const Options& options, bool on_terminal) {
  std::error_code ignored;
  const bool is_directory = fs::is_directory(options.input, ignored);
  std::vector<Input> inputs;
  bool is_whole = true;
  if (is_directory) {
    const Search search(options.input);
    inputs = search.inputs();
    is_whole = search.left_out().empty();
    warn_of(search.left_out());
    if (inputs.empty()) throw UserError("The directory " + sanitised(options.input) + " holds no file of tensors.");
  } else {
    inputs.push_back({options.input, std::string(base_name(options.input))});
  }
  Parser parser(options);
  for (const Input& input : inputs) parser.add(input);
  if (!is_directory && parser.first_problem() && !parser.has_success()) throw UserError(*parser.first_problem());
  const Format format = options.format.value_or(on_terminal ? Format::table : Format::csv);
  require_standard_output();
  std::cout << (format == Format::csv ? csv_text(parser.titles(), parser.rows())
                                      : table_text(parser.titles(), parser.rows()));
  return parser.first_problem() || !is_whole ? exit_fail_on : exit_completed;
}

}  // namespace msrun::parse
