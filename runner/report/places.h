// Where in the model the calls of a run are: the module around each and the line of the source that it came from, as
// construct.json and stack.json say beside the recording, if they are still there. And what was not recorded: modules
// in which no call is.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "runner/report/run_records.h"

namespace msrun::report {

class Places {
 public:
  // Of no run.
  Places() = default;
  // Reads the files of the run's recordings, one recording at a time. Files that cannot be read are told of in
  // problem().
  explicit Places(const RunRecords& records);

  // Of calls: their module, "encoder.0.Linear", and their line, "net.py:12 in forward: y = self.f(x)"; empty where it
  // is not known.
  const std::string& module(std::uint32_t task) const { return modules_.text(module_, task); }
  const std::string& line(std::uint32_t task) const { return lines_.text(line_, task); }
  bool has_modules() const { return modules_.texts.size() > 1; }
  bool has_lines() const { return lines_.texts.size() > 1; }
  // Why modules or lines are not known, in a sentence; empty if all are.
  const std::string& problem() const { return problem_; }
  // Modules in which no call is but such as a rule leaves out, or none that reads a parameter of the module: the name
  // of each, how often it was used, and whether it has calls.
  nlohmann::json unrecorded() const;
  bool has_recorded_modules() const { return saw_modules_; }

 private:
  // Texts that calls have in common; 0 is the empty one.
  struct Table {
    std::vector<std::string> texts{std::string()};
    std::unordered_map<std::string, std::uint32_t> numbers;
    std::size_t bytes = 0;

    std::uint32_t number_of(const std::string& text);
    const std::string& text(const std::vector<std::uint32_t>& column, std::uint32_t task) const {
      return texts[task < column.size() ? column[task] : 0];
    }
  };
  struct Call {
    std::uint32_t task = 0;
    std::string name;
    bool is_left_out = false;  // by rule: it converts, say
  };

  struct Unrecorded {
    std::string module;
    std::uint64_t uses = 0;  // in one recording
    bool has_calls = false;  // but none that reads its parameters
  };

  void add_unrecorded(const std::string& module, std::uint64_t uses, bool has_calls);
  void read(const std::string& folder, const std::vector<Call>& calls);
  void read_modules(const std::string& folder, const std::vector<Call>& calls);
  void read_lines(const std::string& folder, const std::vector<Call>& calls);
  void note(const std::string& problem);

  Table modules_;
  Table lines_;
  std::vector<std::uint32_t> module_;  // by task: numbers of texts
  std::vector<std::uint32_t> line_;
  std::vector<Unrecorded> unrecorded_;
  std::unordered_map<std::string, std::size_t> unrecorded_places_;
  bool saw_modules_ = false;
  std::string problem_;
};

}  // namespace msrun::report
