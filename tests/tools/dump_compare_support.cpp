#include "tests/tools/dump_compare_support.h"

#include <fstream>

namespace msrun::testing {

using Json = nlohmann::ordered_json;

std::vector<Row> rows_by_title(const fs::path& csv) {
  const Rows cells = read_csv(csv);
  std::vector<Row> rows;
  for (std::size_t r = 1; r < cells.size(); ++r) {
    Row& row = rows.emplace_back();
    for (std::size_t c = 0; c < cells[r].size(); ++c) row[cells[0][c]] = cells[r][c];
  }
  return rows;
}

Row row_named(const std::vector<Row>& rows, const std::string& name, const std::string& column) {
  for (const Row& row : rows) {
    if (row.at(column) == name) return row;
  }
  ADD_FAILURE() << "there is no row " << name;
  return {};
}

Json recorded_tensor(double max, double min, double mean, double norm, const std::vector<int>& shape,
                     const std::string& dtype) {
  return {{"type", "torch.Tensor"}, {"dtype", dtype}, {"shape", shape},        {"Max", max}, {"Min", min},
          {"Mean", mean},           {"Norm", norm},   {"requires_grad", false}};
}

Json recorded_call(const std::vector<Json>& inputs, const std::vector<Json>& outputs) {
  return {{"input_args", inputs}, {"input_kwargs", Json::object()}, {"output", outputs}};
}

void ComparedDumps::write(const std::string& side, const Json& data, const Json& more) {
  Json dump{{"task", "statistics"}, {"level", "L1"}, {"framework", "pytorch"}, {"dump_data_dir", nullptr}};
  for (const auto& [key, value] : more.items()) dump[key] = value;
  dump["data"] = data;
  fs::create_directories(scratch_.path() / side);
  std::ofstream(scratch_.path() / side / "dump.json") << dump.dump();
}

Finished ComparedDumps::run(const std::vector<std::string>& options) {
  std::vector<std::string> words{"-tp", (scratch_.path() / "target" / "dump.json").string(),
                                 "-gp", (scratch_.path() / "golden" / "dump.json").string(),
                                 "-o",  (scratch_.path() / "out").string()};
  words.insert(words.end(), options.begin(), options.end());
  fs::remove_all(scratch_.path() / "out");
  return run_tool("dump_compare", words, scratch_.path());
}

std::vector<Row> ComparedDumps::rows() const {
  return rows_by_title(only_file(scratch_.path() / "out", "compare_result_"));
}

}  // namespace msrun::testing
