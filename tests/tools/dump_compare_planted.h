// Recordings in which a fault is planted: a sound recording becomes another one of the same model by noise of rounding,
// by calls that are inserted, deleted, reordered and renamed, and by one call whose output is wrong; whatever is
// computed from that output changes with it, over ranks too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace msrun::testing {

using Json = nlohmann::ordered_json;

// How the output of the faulty call is wrong. An element or an order that is wrong shows in tensors alone.
enum class Wrong { scaled, element, order };

struct Plant {
  std::uint64_t seed = 0;
  bool fault = true;
  Wrong wrong = Wrong::scaled;
  bool inserted = false;
  bool deleted = false;
  bool reordered = false;
  bool renamed = false;
  double noise = 0;  // relative, of every tensor
  // Only calls before (or only behind) the first all_reduce of the rank, or any.
  bool before_all_reduce = false;
};

struct Planted {
  std::vector<Json> ranks;  // dump.json of each
  std::size_t rank = 0;     // of the fault
  std::string call;         // its name in that recording
};

Planted plant(std::vector<Json> ranks, const Plant& how);

// Writes the tensors of a planted dump whose golden recording has them in files, and completes what the dump says of
// them. source and target: folders of tensors.
void write_tensors(Json& dump, const std::filesystem::path& source, const std::filesystem::path& target);

}  // namespace msrun::testing
