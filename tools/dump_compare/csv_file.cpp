#include <utility>

#include "kernels/io/files/csv.h"
#include "tools/dump_compare/result_files.h"

namespace msrun::dump_compare {
namespace {

class CsvFile : public ResultFile {
 public:
  CsvFile(ResultPlace place, const std::vector<std::string>& titles, std::size_t rows)
      : place_(std::move(place)), parts_(rows > rows_of_a_csv) {
    for (const std::string& title : titles) {
      if (!header_.empty()) header_ += ',';
      append_csv_field(header_, title);
    }
    header_ += '\n';
    begin();
  }

  void add(const ResultRow& row) override {
    if (parts_ && in_part_ == rows_of_a_csv) begin();
    ++in_part_;
    files_.back().file->write(row.line);
  }

  std::vector<NamelessFile> close() override { return std::move(files_); }

 private:
  void begin() {
    const std::string part = parts_ ? "_part_" + std::to_string(files_.size() + 1) : "";
    files_.push_back({part + ".csv", std::make_unique<ReportFile>(place_.folder, place_.kind)});
    files_.back().file->write(header_);
    in_part_ = 0;
  }

  const ResultPlace place_;
  const bool parts_;
  std::string header_;
  std::size_t in_part_ = 0;
  std::vector<NamelessFile> files_;
};

}  // namespace

std::unique_ptr<ResultFile> csv_file(const ResultPlace& place, const std::vector<std::string>& titles,
                                     std::size_t rows) {
  return std::make_unique<CsvFile>(place, titles, rows);
}

}  // namespace msrun::dump_compare
