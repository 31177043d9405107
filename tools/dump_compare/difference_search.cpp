#include "tools/dump_compare/difference_search.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "kernels/base/text.h"
#include "tools/recordings/call_rules.h"
#include "tools/recordings/written_inputs.h"

namespace msrun::dump_compare {
namespace {

constexpr auto directed = std::to_array<std::string_view>(
    {"send", "recv", "isend", "irecv", "broadcast", "scatter", "gather", "send_object_list", "recv_object_list"});
constexpr auto counterparts =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"send", "recv"},
                                                                  {"recv", "send"},
                                                                  {"isend", "irecv"},
                                                                  {"irecv", "isend"},
                                                                  {"send_object_list", "recv_object_list"},
                                                                  {"recv_object_list", "send_object_list"}});

// What the documented search does not look at.
bool is_left_out(std::string_view name) {
  return recordings::may_hold_anything(name) || name.find("Tensor.__setitem__") != std::string_view::npos;
}

enum class End : std::uint8_t { source, destination, link };

End opposite(End end) {
  if (end == End::link) return End::link;
  return end == End::source ? End::destination : End::source;
}

using NodeId = std::pair<std::size_t, std::size_t>;  // place of the rank, of the call

// A communication of one rank.
struct Node {
  NodeId id;
  std::string api;
  End end = End::link;
  std::int64_t layer = 0;
  std::size_t sub_layer = 0;  // of the call itself: computing calls since the communication before it
  struct Computing {
    std::size_t call = 0;
    std::size_t sub_layer = 0;
  };
  std::vector<Computing> computing;  // calls before it, since the one before, that differ
  std::set<NodeId> neighbours;
};

// What the arguments say of the other side.
struct Named {
  std::set<std::uint64_t> ranks;
  std::string api;  // "Distributed.recv"
};

Named named_in(const SearchedCall& call, const Node& node) {
  Named named;
  const auto counterpart =
      std::ranges::find(counterparts, node.api, &std::pair<std::string_view, std::string_view>::first);
  named.api = "Distributed." + std::string(counterpart == counterparts.end() ? node.api : counterpart->second);
  for (const SearchedCall::Input& input : call.inputs) {
    if (input.name.find("dst") != std::string::npos || input.name.find("src") != std::string::npos) {
      const auto rank = parse_number<std::uint64_t>(input.value);
      if (rank && *rank != 0) named.ranks.insert(*rank);
    } else if (input.name.ends_with(".group")) {
      if (!input.value.starts_with('[') || !input.value.ends_with(']')) continue;
      std::string_view rest = std::string_view(input.value).substr(1, input.value.size() - 2);
      while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        std::string_view part = rest.substr(0, comma);
        while (part.starts_with(' ')) part.remove_prefix(1);
        if (const auto rank = parse_number<std::uint64_t>(part)) named.ranks.insert(*rank);
        rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
      }
    } else if (input.peer != "None") {
      if (const auto rank = parse_number<std::uint64_t>(input.peer)) named.ranks.insert(*rank);
    }
  }
  return named;
}

// msProbe compares the argument's text with a number: never equal, so that the own rank is always the other end.
End end_of(const SearchedCall& call) {
  for (const auto& [word, end] : {std::pair("src", End::source), std::pair("dst", End::destination)}) {
    for (const SearchedCall::Input& input : call.inputs) {
      if (input.name.find(word) != std::string::npos) return opposite(end);
    }
  }
  return End::link;
}

std::string part_of(const std::string& name, std::size_t number) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < number && begin != std::string::npos; ++i) {
    const std::size_t dot = name.find('.', begin);
    begin = dot == std::string::npos ? dot : dot + 1;
  }
  return begin == std::string::npos ? std::string() : name.substr(begin, name.find('.', begin) - begin);
}

class Search {
 public:
  explicit Search(const std::vector<SearchedRank>& ranks) : ranks_(ranks) {}

  std::vector<FoundCall> run() {
    std::vector<FoundCall> found = before_communications();
    if (!found.empty()) return found;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) read_communications(rank);
    connect();
    prune();
    found = during_communications();
    return found.empty() ? after_ : found;
  }

 private:
  std::vector<FoundCall> before_communications() {
    std::vector<FoundCall> found;
    first_.assign(ranks_.size(), std::nullopt);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto& calls = ranks_[rank].calls;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (is_left_out(calls[i].name)) continue;
        if (is_communication_of_msprobe(calls[i].name)) {
          first_[rank] = i;
          break;
        }
        if (!calls[i].differs) continue;
        found.push_back({rank, i});
        break;
      }
    }
    return found;
  }

  void read_communications(std::size_t rank) {
    nodes_.emplace_back();
    if (!first_[rank]) return;
    const auto& calls = ranks_[rank].calls;
    std::vector<Node::Computing> computing;
    std::size_t sub_layer = 0;
    std::int64_t layer = 0;
    for (std::size_t i = *first_[rank]; i < calls.size(); ++i) {
      if (is_communication_of_msprobe(calls[i].name)) {
        Node node;
        node.id = {rank, i};
        node.api = part_of(calls[i].name, 1);
        node.end = end_of(calls[i]);
        node.layer = layer++;
        node.sub_layer = sub_layer;
        node.computing = std::move(computing);
        nodes_[rank].push_back(std::move(node));
        computing.clear();
        sub_layer = 0;
      } else if (!is_left_out(calls[i].name)) {
        if (calls[i].differs) computing.push_back({i, sub_layer});
        ++sub_layer;
      }
    }
    if (!computing.empty()) after_.push_back({rank, computing.front().call});
  }

  const SearchedCall& call_of(const Node& node) const { return ranks_[node.id.first].calls[node.id.second]; }

  void connect() {
    std::set<std::size_t> searched;
    for (std::size_t rank = 0; rank + 1 < nodes_.size(); ++rank) {
      searched.insert(rank);
      std::set<NodeId> seen;
      const Node* last = nullptr;
      for (Node& node : nodes_[rank]) {
        if (last != nullptr && last->layer >= node.layer) node.layer = last->layer + 1;
        last = &node;
        const Named named = named_in(call_of(node), node);
        for (std::size_t other = 0; other < nodes_.size(); ++other) {
          const bool wanted = named.ranks.empty() || named.ranks.contains(ranks_[other].number);
          if (wanted && !searched.contains(other)) connect(node, named.api, other, seen);
        }
      }
    }
  }

  void connect(Node& node, const std::string& api, std::size_t other, std::set<NodeId>& seen) {
    for (Node& candidate : nodes_[other]) {
      if (seen.contains(candidate.id) || candidate.end != opposite(node.end)) continue;
      if (!call_of(candidate).name.starts_with(api)) continue;
      const Named named = named_in(call_of(candidate), candidate);
      const bool open = named.ranks.empty() && std::ranges::find(directed, candidate.api) == directed.end();
      if (!open && !named.ranks.contains(ranks_[node.id.first].number)) continue;
      seen.insert(candidate.id);
      candidate.layer = node.layer;
      node.neighbours.insert(candidate.id);
      candidate.neighbours.insert(node.id);
      return;
    }
  }

  bool differs(const Node& node) const { return call_of(node).differs; }

  // Leaves out what neither differs nor has calls that do.
  void prune() {
    std::set<NodeId> gone;
    for (auto& nodes : nodes_) {
      std::erase_if(nodes, [&](const Node& node) {
        const bool useless = !differs(node) && node.computing.empty();
        if (useless) gone.insert(node.id);
        return useless;
      });
    }
    for (auto& nodes : nodes_) {
      for (Node& node : nodes) {
        std::erase_if(node.neighbours, [&](const NodeId& id) { return gone.contains(id); });
      }
    }
  }

  std::vector<FoundCall> during_communications() {
    std::map<NodeId, const Node*> by_id;
    std::vector<std::vector<const Node*>> queues;
    for (const auto& nodes : nodes_) {
      auto& queue = queues.emplace_back();
      for (const Node& node : nodes) {
        by_id[node.id] = &node;
        queue.push_back(&node);
      }
      std::ranges::stable_sort(queue, {}, &Node::layer);
    }
    const auto group_of = [&](const Node& node) {
      std::set<NodeId> group{node.id};
      std::vector<NodeId> open{node.id};
      while (!open.empty()) {
        const NodeId id = open.back();
        open.pop_back();
        for (const NodeId& neighbour : by_id.at(id)->neighbours) {
          if (group.insert(neighbour).second) open.push_back(neighbour);
        }
      }
      return group;
    };
    struct Candidate {
      std::int64_t layer;
      std::size_t sub_layer;
      FoundCall call;
    };
    std::set<NodeId> seen;
    std::vector<std::size_t> next(queues.size(), 0);
    const auto left = [&] {
      for (std::size_t r = 0; r < queues.size(); ++r) {
        if (next[r] < queues[r].size()) return true;
      }
      return false;
    };
    while (left()) {
      std::set<NodeId> turn;
      for (std::size_t r = 0; r < queues.size(); ++r) {
        while (next[r] < queues[r].size() && seen.contains(queues[r][next[r]]->id)) ++next[r];
        if (next[r] == queues[r].size()) continue;
        turn.merge(group_of(*queues[r][next[r]++]));
      }
      seen.insert(turn.begin(), turn.end());
      std::vector<Candidate> candidates;
      for (const NodeId& id : turn) {
        const Node& node = *by_id.at(id);
        for (const Node::Computing& computing : node.computing) {
          candidates.push_back({node.layer, computing.sub_layer, {id.first, computing.call}});
        }
        if (differs(node)) candidates.push_back({node.layer, node.sub_layer, {id.first, id.second}});
      }
      if (candidates.empty()) continue;
      const auto key = [](const Candidate& candidate) { return std::pair(candidate.layer, candidate.sub_layer); };
      const auto least = key(*std::ranges::min_element(candidates, {}, key));
      std::vector<FoundCall> found;
      for (const Candidate& candidate : candidates) {
        if (key(candidate) == least) found.push_back(candidate.call);
      }
      return found;
    }
    return {};
  }

  const std::vector<SearchedRank>& ranks_;
  std::vector<std::optional<std::size_t>> first_;  // communication of each rank
  std::vector<std::vector<Node>> nodes_;
  std::vector<FoundCall> after_;
};

}  // namespace

bool is_communication_of_msprobe(const std::string& name) {
  const bool distributed = name.starts_with("Distributed") || name.starts_with("MintDistributed");
  return distributed && recordings::holds_communication(name);
}

std::vector<FoundCall> search_differences(const std::vector<SearchedRank>& ranks) { return Search(ranks).run(); }

}  // namespace msrun::dump_compare
