#include <array>
#include <cstdio>

#include "kernels/io/files/paths.h"
#include "kernels/io/files/temporary_name.h"
#include "tools/dump_compare/copied_file.h"
#include "tools/dump_compare/result_files.h"
#include "tools/html/page.h"
#include "tools/html/table.h"

namespace msrun::dump_compare {
namespace {

constexpr std::array marks{"red", "yellow", "green"};  // worst first

std::size_t mark_of(Level level) { return level == Level::error ? 0 : level == Level::warning ? 1 : 2; }

class HtmlFile : public ResultFile {
 public:
  HtmlFile(const ResultPlace& place, std::vector<std::string> titles, PageFacts facts)
      : place_(place),
        temporary_(
            join_path(place.folder, temporary_name(Folder(place.folder), place.kind + "html") + temporary_suffix)),
        titles_(std::move(titles)),
        facts_(std::move(facts)) {}
  HtmlFile(const HtmlFile&) = delete;
  HtmlFile& operator=(const HtmlFile&) = delete;
  ~HtmlFile() override { std::remove(temporary_.c_str()); }

  void add(const ResultRow& row) override {
    const std::size_t mark = mark_of(row.level);
    ++counts_[mark];
    if (rows_[mark].size() == rows_of_a_page) return;
    rows_[mark].push_back({++order_, row});
  }

  std::vector<NamelessFile> close() override {
    try {
      return written_page();
    } catch (const WriteError& error) {
      // The page has another name on its way, which nobody knows.
      std::string text = error.what();
      const std::size_t at = text.find(temporary_);
      if (at != std::string::npos)
        text.replace(at, temporary_.size(), join_path(place_.folder, place_.kind + time_in_name + ".html"));
      throw WriteError(text, error.code());
    }
  }

 private:
  struct Kept {
    std::size_t order;
    ResultRow row;
  };

  std::vector<NamelessFile> written_page() {
    html::Page page(OwnName{temporary_}, "Comparison of two recordings");
    page.lines({"target: " + facts_.target, "golden: " + facts_.golden});
    page.facts({{"rows", std::to_string(counts_[0] + counts_[1] + counts_[2])},
                {"error", std::to_string(counts_[0])},
                {"warning", std::to_string(counts_[1])},
                {"pass", std::to_string(counts_[2])}});
    if (!facts_.findings.empty()) {
      page.begin_section("First divergence");
      for (const std::string& line : facts_.findings) page.paragraph(line);
      page.end_section();
    }
    page.begin_section("Tensors");
    std::size_t room = rows_of_a_page;
    html::TableView view = table_view();
    for (std::size_t mark = 0; mark < marks.size(); ++mark) {
      const std::size_t shown = std::min(rows_[mark].size(), room);
      room -= shown;
      view.marks[mark].rows = shown;
    }
    if (counts_[0] + counts_[1] + counts_[2] > rows_of_a_page) {
      page.paragraph("Of all rows the table holds the " + std::to_string(rows_of_a_page) +
                     " worst; the table of results has all of them.");
    }
    html::TableWriter writer(page, view);
    for (std::size_t mark = 0; mark < marks.size(); ++mark) {
      for (std::size_t i = 0; i < view.marks[mark].rows; ++i) writer.row(cells(mark, rows_[mark][i]));
    }
    writer.end();
    page.end_section();
    page.commit();
    std::vector<NamelessFile> files;
    files.push_back(copied_file(place_, temporary_, ".html"));
    return files;
  }

  std::vector<std::string> cells(std::size_t mark, const Kept& kept) const {
    std::vector<std::string> result{marks[mark], std::to_string(marks.size() - mark), std::to_string(kept.order)};
    for (std::size_t i = 0; i < kept.row.size(); ++i) result.emplace_back(kept.row.cell(i));
    return result;
  }

  html::TableView table_view() const {
    using html::CellKind;
    html::TableView view;
    view.id = "rows";
    view.titles = {"Mark", "Badness", "Order"};
    view.titles.insert(view.titles.end(), titles_.begin(), titles_.end());
    view.hidden = {"Mark", "Badness", "Order"};
    view.columns = {{"Result", "Mark", CellKind::mark},
                    {"#", "Order", CellKind::whole_number},
                    {"NPU Name", "NPU Name", CellKind::long_text},
                    {"Bench Name", "Bench Name", CellKind::long_text},
                    {"Dtype", "NPU Dtype", CellKind::text},
                    {"Shape", "NPU Tensor Shape", CellKind::text}};
    for (const char* title : {"Max diff", "L2norm diff", "NormRelativeErr", "Cosine", "MaxAbsErr", "MaxRelativeErr",
                              "One Thousandth Err Ratio", "NPU MD5", "BENCH MD5"}) {
      if (std::find(titles_.begin(), titles_.end(), title) == titles_.end()) continue;
      const bool text = std::string_view(title).ends_with("MD5");
      view.columns.push_back({title, title, text ? CellKind::text : CellKind::number});
    }
    view.columns.push_back({"Message", "Err_message", CellKind::long_text});
    view.fixed = "NPU Name";
    view.mark = "Mark";
    view.mark_text = "Result";
    view.marks = {{"red", "error", 0}, {"yellow", "warning", 0}, {"green", "pass", 0}};
    view.name = "NPU Name";
    view.sort = "Badness";
    view.sort_label = "Worst first";
    view.order = "Order";
    view.noun = "tensor";
    view.search_hint = "name, dtype, message";
    view.without_script = "The table needs a browser that runs scripts; the file of results holds the same rows.";
    view.nothing = "No rows.";
    return view;
  }

  const ResultPlace place_;
  const std::string temporary_;
  const std::vector<std::string> titles_;
  const PageFacts facts_;
  std::array<std::vector<Kept>, 3> rows_;
  std::array<std::size_t, 3> counts_{};
  std::size_t order_ = 0;
};

}  // namespace

std::unique_ptr<ResultFile> html_file(const ResultPlace& place, const std::vector<std::string>& titles,
                                      PageFacts facts) {
  return std::make_unique<HtmlFile>(place, titles, std::move(facts));
}

}  // namespace msrun::dump_compare
