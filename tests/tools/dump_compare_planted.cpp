#include "tests/tools/dump_compare_planted.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <span>

#include "kernels/io/torch/pt_file.h"

namespace msrun::testing {
namespace {

using Generator = std::mt19937_64;

struct Entry {
  std::string name;
  Json content;
  bool faulty = false;
  std::string recorded;  // its name in the recording that it is from
};
using Entries = std::vector<Entry>;

bool is_tensor(const Json& node) { return node.is_object() && node.contains("dtype") && node.contains("Max"); }

void each_tensor(Json& node, const std::function<void(Json&)>& visit) {
  if (is_tensor(node)) return visit(node);
  if (!node.is_structured()) return;
  for (Json& child : node) each_tensor(child, visit);
}

Json& inputs(Json& entry) { return entry.contains("input_args") ? entry["input_args"] : entry["input"]; }

bool is_real(const Json& tensor) {
  const std::string dtype = tensor["dtype"];
  return dtype.find("float") != std::string::npos && tensor["Max"].is_number();
}

// What tells one tensor from another.
std::string key_of(const Json& tensor) {
  std::string key;
  for (const char* name : {"Max", "Min", "Mean", "Norm", "md5"}) {
    if (tensor.contains(name)) key += tensor[name].dump() + " ";
  }
  if (tensor.contains("changes")) key += tensor["changes"].dump() + " ";
  std::int64_t elements = 1;
  for (const Json& size : tensor["shape"]) elements *= size.get<std::int64_t>();
  return key + std::to_string(elements);
}

// changes: what becomes of the recorded elements, in order.
struct Values {
  Json max, min, mean, norm, md5, changes;
};

Values values_of(const Json& tensor) {
  Values values{tensor["Max"], tensor["Min"], tensor["Mean"], tensor["Norm"], nullptr, nullptr};
  if (tensor.contains("md5")) values.md5 = tensor["md5"];
  if (tensor.contains("changes")) values.changes = tensor["changes"];
  return values;
}

void set(Json& tensor, const Values& values) {
  tensor["Max"] = values.max;
  tensor["Min"] = values.min;
  tensor["Mean"] = values.mean;
  tensor["Norm"] = values.norm;
  if (tensor.contains("md5")) tensor["md5"] = values.md5;
  if (!values.changes.is_null()) tensor["changes"] = values.changes;
}

std::string random_sum(Generator& random) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += "0123456789abcdef"[random() % 16];
  return text;
}

Values changed(const Json& tensor, double least, double most, Generator& random, Wrong wrong = Wrong::scaled) {
  Values values = values_of(tensor);
  if (tensor.contains("data_name")) {
    const bool constant = tensor["Max"] == tensor["Min"];
    const bool scaled = wrong == Wrong::scaled || constant;
    values.changes.push_back({{"kind", scaled                    ? "scaled"
                                       : wrong == Wrong::element ? "element"
                                                                 : "order"},
                              {"seed", random()},
                              {"least", least},
                              {"most", most}});
    if (!scaled) return values;
  }
  std::uniform_real_distribution<double> factor(least, most);
  for (Json* value : {&values.max, &values.min, &values.mean, &values.norm}) {
    if (value->is_number()) *value = value->get<double>() * factor(random);
  }
  values.md5 = random_sum(random);
  return values;
}

std::string base_of(const std::string& name, std::string& direction) {
  const std::size_t last = name.rfind('.');
  const std::size_t number = name.rfind('.', last - 1);
  direction = name.substr(last + 1);
  return name.substr(0, number);
}

bool is_module(const std::string& name) { return name.starts_with("Module.") || name.starts_with("Cell."); }

// Numbers of calls as the recorder would give them now.
void renumber(Entries& entries) {
  std::map<std::string, int> counts;
  for (Entry& entry : entries) {
    if (is_module(entry.name)) continue;
    std::string direction;
    const std::string base = base_of(entry.name, direction);
    if (direction != "forward") continue;
    entry.name = base + "." + std::to_string(counts[base]++) + ".forward";
  }
}

class Planter {
 public:
  Planter(std::vector<Json> ranks, const Plant& how) : how_(how), random_(how.seed), dumps_(std::move(ranks)) {
    for (const Json& dump : dumps_) {
      Entries entries;
      for (const auto& [name, content] : dump["data"].items()) entries.push_back({name, content, false, name});
      ranks_.push_back(std::move(entries));
    }
  }

  Planted run() {
    Planted planted;
    if (how_.fault) choose();
    propagate();
    if (how_.noise > 0) add_noise();
    for (Entries& entries : ranks_) edit(entries);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Json data = Json::object();
      for (Entry& entry : ranks_[r]) {
        if (entry.faulty) {
          planted.rank = r;
          planted.call = entry.name;
        }
        name_files(entry);
        data[entry.name] = std::move(entry.content);
      }
      dumps_[r]["data"] = std::move(data);
    }
    planted.ranks = std::move(dumps_);
    return planted;
  }

 private:
  bool is_communication(const Entry& entry) const { return entry.name.starts_with("Distributed."); }

  // Whose tensors all are real numbers, and whose outputs are none of its inputs.
  bool may_be_faulty(Entry& entry) {
    if (is_module(entry.name) || is_communication(entry)) return false;
    bool good = false;
    std::vector<std::string> seen;
    each_tensor(inputs(entry.content), [&](Json& tensor) { seen.push_back(key_of(tensor)); });
    bool computes = false;
    for (Json& output : entry.content["output"]) {
      if (!is_tensor(output) || !is_real(output)) continue;
      good = true;
      computes = computes || std::ranges::find(seen, key_of(output)) == seen.end();
    }
    return good && computes && !seen.empty();
  }

  void choose() {
    std::vector<std::pair<std::size_t, std::size_t>> candidates;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      bool behind = false;
      for (std::size_t i = 0; i < ranks_[r].size(); ++i) {
        behind = behind || ranks_[r][i].name.starts_with("Distributed.all_reduce");
        if (behind && how_.before_all_reduce) break;
        if (may_be_faulty(ranks_[r][i])) candidates.emplace_back(r, i);
      }
    }
    const auto [rank, index] = candidates[random_() % candidates.size()];
    ranks_[rank][index].faulty = true;
  }

  // The k-th communication of one rank belongs to the k-th of every other.
  void propagate() {
    std::vector<std::map<std::string, Values>> wrong(ranks_.size());
    std::vector<std::size_t> next(ranks_.size(), 0);
    while (true) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        while (next[r] < ranks_[r].size() && !is_communication(ranks_[r][next[r]])) {
          Entry& entry = ranks_[r][next[r]++];
          const bool reads_wrong = replace_inputs(entry, wrong[r]);
          if (entry.faulty) change_outputs(entry, wrong[r], 1.6, 2.4, how_.wrong);
          if (reads_wrong) change_outputs(entry, wrong[r], 1.3, 1.7);
          // A module hands out what a call in it has computed.
          if (is_module(entry.name)) replace(entry.content, "output", wrong[r]);
        }
      }
      bool any = false;
      bool reads_wrong = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (next[r] == ranks_[r].size()) continue;
        any = true;
        reads_wrong = replace_inputs(ranks_[r][next[r]], wrong[r]) || reads_wrong;
      }
      if (!any) return;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (next[r] == ranks_[r].size()) continue;
        if (reads_wrong) change_outputs(ranks_[r][next[r]], wrong[r], 1.3, 1.7);
        ++next[r];
      }
    }
  }

  bool replace_inputs(Entry& entry, const std::map<std::string, Values>& wrong) {
    bool any = false;
    for (const char* part : {"input_args", "input_kwargs", "input"}) any = replace(entry.content, part, wrong) || any;
    return any;
  }

  static bool replace(Json& content, const char* part, const std::map<std::string, Values>& wrong) {
    if (!content.contains(part)) return false;
    bool any = false;
    each_tensor(content[part], [&](Json& tensor) {
      const auto found = wrong.find(key_of(tensor));
      if (found == wrong.end()) return;
      set(tensor, found->second);
      any = true;
    });
    return any;
  }

  void change_outputs(Entry& entry, std::map<std::string, Values>& wrong, double least, double most,
                      Wrong kind = Wrong::scaled) {
    if (!entry.content.contains("output")) return;
    each_tensor(entry.content["output"], [&](Json& tensor) {
      if (!is_real(tensor)) return;
      const std::string key = key_of(tensor);
      const auto known = wrong.find(key);
      const Values values = known != wrong.end() ? known->second : changed(tensor, least, most, random_, kind);
      wrong[key] = values;
      set(tensor, values);
    });
  }

  // Files are named after the calls as they are called now, and remember where their tensors come from.
  static void name_files(Entry& entry) {
    std::size_t number = 0;
    each_tensor(entry.content, [&](Json& tensor) {
      if (!tensor.contains("data_name")) return;
      const std::string recorded = tensor["data_name"];
      tensor["source"] = recorded;
      const bool own = !entry.recorded.empty() && recorded.starts_with(entry.recorded);
      const std::string rest = own ? recorded.substr(entry.recorded.size()) : "." + std::to_string(number++) + ".pt";
      tensor["data_name"] = entry.name + rest;
    });
  }

  // Equal tensors stay equal.
  void add_noise() {
    for (Entries& entries : ranks_) {
      std::map<std::string, Values> noisy;
      for (Entry& entry : entries) {
        each_tensor(entry.content, [&](Json& tensor) {
          if (!is_real(tensor)) return;
          const std::string key = key_of(tensor);
          const auto found = noisy.find(key);
          const Values values =
              found != noisy.end() ? found->second : changed(tensor, 1 - how_.noise, 1 + how_.noise, random_);
          noisy.emplace(key, values);
          set(tensor, values);
        });
      }
    }
  }

  std::size_t place(const Entries& entries, const std::function<bool(std::size_t)>& fits) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (fits(i)) places.push_back(i);
    }
    return places.empty() ? entries.size() : places[random_() % places.size()];
  }

  void edit(Entries& entries) {
    const auto plain = [&](std::size_t i) {
      return !entries[i].faulty && !is_module(entries[i].name) && !is_communication(entries[i]) &&
             entries[i].name.ends_with(".forward");
    };
    if (how_.renamed) rename(entries, plain);
    if (how_.inserted) insert(entries, plain);
    if (how_.deleted) erase(entries, plain);
    if (how_.reordered) reorder(entries, plain);
    if (how_.inserted || how_.deleted || how_.reordered || how_.renamed) renumber(entries);
  }

  void rename(Entries& entries, const std::function<bool(std::size_t)>& plain) {
    const std::size_t i = place(entries, plain);
    if (i == entries.size()) return;
    std::string direction;
    const std::string base = base_of(entries[i].name, direction);
    entries[i].name = "Torch.custom_" + base.substr(base.find('.') + 1) + ".0." + direction;
  }

  // A copy of the first tensor that a call computes.
  void insert(Entries& entries, const std::function<bool(std::size_t)>& plain) {
    const std::size_t i = place(entries, [&](std::size_t at) {
      return plain(at) && !entries[at].content["output"].empty() && is_tensor(entries[at].content["output"][0]);
    });
    if (i == entries.size()) return;
    const Json tensor = entries[i].content["output"][0];
    Entry copy{
        "Tensor.contiguous.0.forward",
        {{"input_args", Json::array({tensor})}, {"input_kwargs", Json::object()}, {"output", Json::array({tensor})}},
        false,
        {}};
    entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(i) + 1, copy);
  }

  // A call that only hands on what it was given.
  void erase(Entries& entries, const std::function<bool(std::size_t)>& plain) {
    const std::size_t i = place(entries, [&](std::size_t at) {
      if (!plain(at)) return false;
      Json& content = entries[at].content;
      const Json& output = content["output"];
      if (output.size() != 1 || !is_tensor(output[0]) || inputs(content).empty()) return false;
      return is_tensor(inputs(content)[0]) && key_of(inputs(content)[0]) == key_of(output[0]);
    });
    if (i != entries.size()) entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
  }

  // Two neighbours of which the second reads nothing of the first.
  void reorder(Entries& entries, const std::function<bool(std::size_t)>& plain) {
    const std::size_t i = place(entries, [&](std::size_t at) {
      if (at + 1 >= entries.size() || !plain(at) || !plain(at + 1)) return false;
      std::vector<std::string> made;
      each_tensor(entries[at].content["output"], [&](Json& tensor) { made.push_back(key_of(tensor)); });
      bool reads = false;
      each_tensor(inputs(entries[at + 1].content),
                  [&](Json& tensor) { reads = reads || std::ranges::find(made, key_of(tensor)) != made.end(); });
      return !reads;
    });
    if (i != entries.size()) std::swap(entries[i], entries[i + 1]);
  }

  const Plant how_;
  Generator random_;
  std::vector<Json> dumps_;
  std::vector<Entries> ranks_;
};

}  // namespace

Planted plant(std::vector<Json> ranks, const Plant& how) { return Planter(std::move(ranks), how).run(); }

void write_tensors(Json& dump, const std::filesystem::path& source, const std::filesystem::path& target) {
  std::filesystem::create_directories(target);
  each_tensor(dump["data"], [&](Json& tensor) {
    if (!tensor.contains("source")) return;
    const Tensor recorded = read_pt((source / tensor["source"].get<std::string>()).string()).contiguous();
    const Tensor wide = recorded.to(DType::float64).contiguous();
    std::vector<double> values(wide.data<double>(), wide.data<double>() + wide.numel());
    for (const Json& change : tensor.contains("changes") ? tensor["changes"] : Json::array()) {
      Generator random(change["seed"].get<std::uint64_t>());
      std::uniform_real_distribution<double> factor(change["least"], change["most"]);
      double largest = 0;
      for (const double value : values) largest = std::max(largest, std::abs(value));
      if (change["kind"] == "order") {
        std::ranges::reverse(values);
      } else if (change["kind"] == "element") {
        values[random() % values.size()] += factor(random) * largest;
      } else {
        for (double& value : values) value *= factor(random);
      }
    }
    const Tensor written = Tensor::from<double>(DType::float64, wide.shape(), values).to(recorded.dtype());
    const std::string name = tensor["data_name"];
    write_pt((target / name).string(), written);
    const Tensor rounded = written.to(DType::float64).contiguous();
    const std::span<const double> elements(rounded.data<double>(), static_cast<std::size_t>(rounded.numel()));
    if (tensor.contains("changes") && !elements.empty()) {
      double sum = 0;
      double squares = 0;
      for (const double value : elements) {
        sum += value;
        squares += value * value;
      }
      tensor["Max"] = *std::ranges::max_element(elements);
      tensor["Min"] = *std::ranges::min_element(elements);
      tensor["Mean"] = sum / static_cast<double>(elements.size());
      tensor["Norm"] = std::sqrt(squares);
    }
    tensor.erase("changes");
    tensor.erase("source");
  });
}

}  // namespace msrun::testing
