#include <optional>

#include "kernels/io/files/csv.h"
#include "kernels/io/files/paths.h"
#include "tools/dump_compare/result_files.h"

namespace msrun::dump_compare {
namespace {

class CsvFile : public ResultFile {
 public:
  CsvFile(std::string stem, const std::vector<std::string>& titles, std::size_t rows)
      : stem_(std::move(stem)), parts_(rows > rows_of_a_csv) {
    for (const std::string& title : titles) {
      if (!header_.empty()) header_ += ',';
      append_csv_field(header_, title);
    }
    header_ += '\n';
    begin();
  }

  void add(const ResultRow& row) override {
    if (parts_ && in_part_ == rows_of_a_csv) {
      file_->commit();
      begin();
    }
    ++in_part_;
    line_.clear();
    append_csv(line_, row);
    file_->write(line_);
  }

  std::vector<std::string> close() override {
    file_->commit();
    return paths_;
  }

 private:
  void begin() {
    const std::string part = parts_ ? "_part_" + std::to_string(paths_.size() + 1) : "";
    paths_.push_back(stem_ + part + ".csv");
    file_.emplace(paths_.back());
    file_->write(header_);
    in_part_ = 0;
  }

  const std::string stem_;
  const bool parts_;
  std::string header_;
  std::string line_;
  std::size_t in_part_ = 0;
  std::vector<std::string> paths_;
  std::optional<AtomicFile> file_;
};

}  // namespace

std::unique_ptr<ResultFile> csv_file(const std::string& stem, const std::vector<std::string>& titles,
                                     std::size_t rows) {
  return std::make_unique<CsvFile>(stem, titles, rows);
}

}  // namespace msrun::dump_compare
