// What the tests of dump_compare and overflow_check share.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {

// A file or folder of the recordings in pairs.
inline std::string compare_data(const std::string& below) { return test_data("/dump_compare/" + below); }

using Row = std::map<std::string, std::string>;

// The rows of a table by the titles of their columns.
std::vector<Row> rows_by_title(const fs::path& csv);

// The first row of that name, in the column "NPU Name" or "Bench Name"; an empty one if there is none.
Row row_named(const std::vector<Row>& rows, const std::string& name, const std::string& column = "NPU Name");

// A tensor as a recording describes it.
nlohmann::ordered_json recorded_tensor(double max, double min, double mean, double norm,
                                       const std::vector<int>& shape = {2, 2},
                                       const std::string& dtype = "torch.float32");

// A forward call of positional arguments.
nlohmann::ordered_json recorded_call(const std::vector<nlohmann::ordered_json>& inputs,
                                     const std::vector<nlohmann::ordered_json>& outputs);

// Two recordings in a folder of their own, and what the tool makes of them.
class ComparedDumps {
 public:
  // data: of dump.json; more: members beside it.
  void write(const std::string& side, const nlohmann::ordered_json& data,
             const nlohmann::ordered_json& more = nlohmann::ordered_json::object());
  Finished run(const std::vector<std::string>& options = {});
  // Of the one table.
  std::vector<Row> rows() const;
  const fs::path& folder() const { return scratch_.path(); }

 private:
  TemporaryDirectory scratch_;
};

}  // namespace msrun::testing
