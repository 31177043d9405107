// What the tests of graph share: recordings of a few calls, the tool, and what it wrote.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {

using Json = nlohmann::ordered_json;

// A file or folder of the recordings and of what msprobe made of them.
inline std::string graph_data(const std::string& below) { return test_data("/graph/" + below); }

// A tensor as a recording describes it; max and the other statistics are equal.
Json graph_tensor(double value, const std::vector<int>& shape = {2, 2});

// The three files of one rank. Names that construct lacks are no nodes.
struct GraphDump {
  Json data = Json::object();
  Json construct = Json::object();
  Json stack = Json::object();
  Json header = {{"task", "statistics"}, {"level", "mix"}, {"framework", "pytorch"}, {"dump_data_dir", nullptr}};

  // A call with one input and one output below parent; null: the root.
  GraphDump& call(const std::string& name, const Json& parent, double input = 1, double output = 1);
  void write(const fs::path& folder) const;
};

// The tool in a folder of its own, to which relative paths refer.
class GraphRun {
 public:
  const fs::path& folder() const { return scratch_.path(); }
  // Arguments -tp npu, -gp bench if that folder is there, -o out, and those.
  Finished run(const std::vector<std::string>& options = {});
  Finished run_with(const std::vector<std::string>& arguments);
  // The one file of that beginning and ending.
  fs::path file(const std::string& ending, const std::string& beginning = "") const;
  Json vis(const std::string& beginning = "") const;

 private:
  TemporaryDirectory scratch_;
};

// The rows of a table, by column; NULL is "NULL".
using TableRow = std::map<std::string, std::string>;
std::vector<TableRow> table_rows(const fs::path& database, const std::string& table);
// The row of the node of that name and side.
TableRow node_row(const fs::path& database, const std::string& name, const std::string& side = "NPU");

}  // namespace msrun::testing
