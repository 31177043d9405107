#include "tools/run_diff/facts.h"

#include <algorithm>
#include <array>

#include "kernels/base/text.h"

namespace msrun::run_diff {
namespace {

using Json = nlohmann::ordered_json;

// With another of these an equal result has another status or other columns.
constexpr std::array<std::string_view, 7> judging{"standard", "limits", "benchmark",        "max_abs_err",
                                                  "compat",   "layout", "quantization_apis"};

Json fingerprint_of(const runs::Run& run) {
  const Json print = run.metadata.is_object() ? run.metadata.value("fingerprint", Json()) : Json();
  return print.is_object() ? print : Json::object();
}

std::string shown(const Json& value) {
  if (value.is_null()) return "not told";
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return text.empty() ? "none" : bounded(sanitised(text));
}

// What tells of the calls of the plan: of a run, and of one rank of a run (header_of_rank).
bool names_calls(const std::string& name) { return name == "dump" || name == "recording"; }

std::string difference(const std::string& name, const Json& a, const Json& b) {
  if (names_calls(name)) return "the recording, or what --only, --except, -f and -config leave of it";
  return name + " (" + shown(a) + " in A, " + shown(b) + " in B)";
}

}  // namespace

RunsFacts facts_of(const runs::Run& a, const runs::Run& b) {
  RunsFacts facts;
  facts.by_status = !a.has_journal || !b.has_journal;
  if (facts.by_status) return facts;
  Json prints_a = fingerprint_of(a);
  Json prints_b = fingerprint_of(b);
  for (const char* key : {"backend", "tested_on"}) {
    prints_a[key] = a.metadata.value(key, Json());
    prints_b[key] = b.metadata.value(key, Json());
  }
  Json all = prints_a;
  all.update(prints_b);
  for (const auto& [name, ignored] : all.items()) {
    const Json before = prints_a.value(name, Json());
    const Json after = prints_b.value(name, Json());
    if (before == after || name == "calls") continue;
    const bool is_told = !before.is_null() && !after.is_null();
    if (names_calls(name) && !is_told) continue;
    facts.other_options.push_back(difference(name, before, after));
    // A journal of a version without the option does not tell.
    if (is_told && std::ranges::find(judging, name) != judging.end()) facts.judged_otherwise = true;
  }
  return facts;
}

}  // namespace msrun::run_diff
