#include "tests/tools/graph_support.h"

#include <sqlite3.h>

#include <fstream>

namespace msrun::testing {

Json graph_tensor(double value, const std::vector<int>& shape) {
  return {{"type", "torch.Tensor"}, {"dtype", "torch.float32"},
          {"shape", shape},         {"Max", value},
          {"Min", value},           {"Mean", value},
          {"Norm", value},          {"requires_grad", false}};
}

GraphDump& GraphDump::call(const std::string& name, const Json& parent, double input, double output) {
  construct[name] = parent;
  const bool backward = name.find("backward") != std::string::npos;
  data[name][backward ? "input" : "input_args"] = Json::array({graph_tensor(input)});
  data[name]["output"] = Json::array({graph_tensor(output)});
  return *this;
}

void GraphDump::write(const fs::path& folder) const {
  fs::create_directories(folder);
  Json dump = header;
  dump["data"] = data;
  std::ofstream(folder / "dump.json") << dump.dump();
  std::ofstream(folder / "construct.json") << construct.dump();
  std::ofstream(folder / "stack.json") << stack.dump();
}

Finished GraphRun::run(const std::vector<std::string>& options) {
  std::vector<std::string> arguments{"-tp", (folder() / "npu").string(), "-o", (folder() / "out").string()};
  if (fs::exists(folder() / "bench")) arguments.insert(arguments.end(), {"-gp", (folder() / "bench").string()});
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_with(arguments);
}

Finished GraphRun::run_with(const std::vector<std::string>& arguments) {
  fs::remove_all(folder() / "out");
  return run_tool("graph", arguments, folder());
}

fs::path GraphRun::file(const std::string& ending, const std::string& beginning) const {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder() / "out")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(ending) && name.starts_with(beginning)) found.push_back(entry.path());
  }
  EXPECT_EQ(found.size(), 1U) << "files " << beginning << "*" << ending;
  return found.empty() ? fs::path() : found.front();
}

Json GraphRun::vis(const std::string& beginning) const {
  std::ifstream stream(file(".vis", beginning));
  return Json::parse(stream);
}

std::vector<TableRow> table_rows(const fs::path& database, const std::string& table) {
  std::vector<TableRow> rows;
  sqlite3* connection = nullptr;
  const std::string uri = "file:" + database.string() + "?mode=ro&immutable=1";
  EXPECT_EQ(sqlite3_open_v2(uri.c_str(), &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr), SQLITE_OK);
  const std::string query = "SELECT * FROM " + table;
  const auto take = [](void* all, int count, char** values, char** names) {
    TableRow row;
    for (int i = 0; i < count; ++i) row[names[i]] = values[i] == nullptr ? "NULL" : values[i];
    static_cast<std::vector<TableRow>*>(all)->push_back(row);
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(connection, query.c_str(), take, &rows, nullptr), SQLITE_OK) << sqlite3_errmsg(connection);
  sqlite3_close(connection);
  return rows;
}

TableRow node_row(const fs::path& database, const std::string& name, const std::string& side) {
  for (const TableRow& row : table_rows(database, "tb_nodes")) {
    if (row.at("node_name") == name && row.at("data_source") == side) return row;
  }
  ADD_FAILURE() << "no node " << name << " of " << side;
  return {};
}

}  // namespace msrun::testing
