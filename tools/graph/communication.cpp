#include "tools/graph/communication.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "kernels/base/text.h"
#include "tools/graph/overflow.h"
#include "tools/graph/text.h"

namespace msrun::graph {
namespace {

enum class Pattern : std::uint8_t { point_to_point, from_one, to_one, symmetric };

struct Api {
  std::string_view name;
  std::string_view partner;
  std::string_view rank_parameter;  // behind ".input."
  std::string_view type;            // what this side does
  Pattern kind;
};

constexpr auto apis = std::to_array<Api>({
    {"send", "recv", "dst", "send", Pattern::point_to_point},
    {"isend", "irecv", "dst", "send", Pattern::point_to_point},
    {"recv", "send", "src", "receive", Pattern::point_to_point},
    {"irecv", "isend", "src", "receive", Pattern::point_to_point},
    {"broadcast", "broadcast", "1", "send", Pattern::from_one},
    {"scatter", "scatter", "src", "send", Pattern::from_one},
    {"gather", "gather", "dst", "receive", Pattern::to_one},
    {"reduce", "reduce", "1", "receive", Pattern::to_one},
});

std::string_view other_type(std::string_view type) {
  if (type == "send") return "receive";
  return type == "receive" ? "send" : "send_receive";
}

// What tells one communication from the next: its api, the peer or the group, and how often that came before.
struct Key {
  std::string api;
  std::uint64_t peer = 0;
  std::string group;
  std::uint64_t count = 0;
  auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): it sees a 0 in what is generated
};

// A call, or one operation of a batch.
struct Operation {
  std::uint32_t entry = 0;
  std::size_t place = 0;  // in its batch
  std::string api;
  std::string_view type;
  Pattern kind = Pattern::symmetric;
  Key key;
  Key partner_key;                   // of a point-to-point operation
  std::uint64_t peer = 0;            // of those, and the one rank of a collective
  std::vector<std::uint64_t> ranks;  // of a collective
  std::uint32_t output = no_index;   // parameter: the first output
};

struct Member {
  const RankGraph* rank = nullptr;
  const Side* side = nullptr;
  SideGraph* graph = nullptr;
  bool npu = true;
  std::vector<Operation> operations;
  std::map<Key, std::size_t> by_key;
};

// Numbers of "[0, 1]".
std::vector<std::uint64_t> numbers_of(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  while (true) {
    const std::size_t begin = text.find_first_of("0123456789");
    if (begin == std::string_view::npos) return numbers;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    if (const auto number = parse_number<std::uint64_t>(text.substr(begin, end - begin))) numbers.push_back(*number);
    text.remove_prefix(end);
  }
}

class Linker {
 public:
  Linker(const std::vector<RankGraph*>& ranks, Dialect dialect, bool npu, const Warn& warn)
      : dialect_(dialect), warn_(warn) {
    for (RankGraph* rank : ranks) {
      std::optional<DialectGraph>& graph = dialect == Dialect::vis ? rank->vis : rank->db;
      if (!graph || (!npu && !graph->bench)) continue;
      Member member;
      member.rank = rank;
      member.side = npu ? &rank->npu : &*rank->bench;
      member.graph = npu ? &graph->npu : &*graph->bench;
      member.npu = npu;
      indices_.push_back(&graph->indices);
      members_.push_back(std::move(member));
    }
    for (std::size_t i = 0; i < members_.size(); ++i) by_rank_.emplace(members_[i].rank->rank, i);
  }

  void run() {
    for (Member& member : members_) collect(member);
    for (Member& member : members_) {
      for (const Operation& operation : member.operations) link(member, operation);
    }
  }

 private:
  const Parameter* parameter(const Side& side, const Entry& entry, std::string_view suffix) const {
    for (std::uint32_t i = entry.first; i < entry.last; ++i) {
      const Parameter& one = side.parameters[i];
      if (!one.whole && side.text(one.name) == suffix) return &one;
    }
    return nullptr;
  }

  static std::optional<std::uint64_t> whole(const Value& value) {
    if (value.kind != Kind::integer || value.integer < 0) return std::nullopt;
    return static_cast<std::uint64_t>(value.integer);
  }

  void collect(Member& member) {
    std::map<std::tuple<std::string, std::uint64_t, std::string>, std::uint64_t> counts;
    const auto add = [&](Operation operation) {
      Key& key = operation.key;
      key.count = ++counts[{key.api, key.peer, key.group}];
      operation.partner_key.count = key.count;
      member.by_key.emplace(key, member.operations.size());
      member.operations.push_back(std::move(operation));
    };
    for (const Node& node : member.graph->tree.nodes) {
      if (node.entry == no_index || !node.name.starts_with("Distributed.")) continue;
      std::string_view api = node.name.substr(12);
      api = api.substr(0, api.find('.'));
      const Entry& entry = member.side->entries[node.entry];
      if (api == "batch_isend_irecv") {
        for (Operation& operation : batch(member, node, entry)) add(std::move(operation));
      } else if (std::optional<Operation> operation = single(member, node, entry, api)) {
        add(std::move(*operation));
      }
    }
  }

  void lacks(const Member& member, const Node& node, std::string_view what) const {
    if (dialect_ == Dialect::db && member.rank->vis) return;  // said already
    warn_(member.side->folder + ": " + sanitised(bounded(std::string(node.name))) + " has no " + std::string(what) +
          "; it is linked with no other rank");
  }

  std::optional<Operation> single(const Member& member, const Node& node, const Entry& entry, std::string_view api) {
    const Side& side = *member.side;
    Operation operation;
    operation.entry = node.entry;
    operation.api = api;
    operation.type = "send_receive";
    const auto known = std::ranges::find(apis, api, &Api::name);
    if (known != apis.end()) {
      operation.type = known->type;
      operation.kind = known->kind;
      const Parameter* rank = parameter(side, entry, ".input." + std::string(known->rank_parameter));
      const auto peer = rank == nullptr ? std::nullopt : whole(side.role(*rank, Role::value));
      if (!peer) {
        lacks(member, node, "rank " + std::string(known->rank_parameter));
        return std::nullopt;
      }
      operation.peer = *peer;
    }
    for (std::uint32_t i = entry.first; i < entry.last && operation.output == no_index; ++i) {
      if (side.parameters[i].output) operation.output = i;
    }
    if (operation.kind == Pattern::point_to_point) {
      operation.key = {std::string(api), operation.peer, "", 0};
      operation.partner_key = {std::string(known->partner), member.rank->rank, "", 0};
      return operation;
    }
    operation.key.api = api;
    const Parameter* group = parameter(side, entry, ".input.group");
    if (group != nullptr && !side.form(*group).null) {
      operation.ranks = numbers_of(side.value_text(side.role(*group, Role::group_ranks)));
      operation.key.group = side.value_text(side.role(*group, Role::group_id));
    } else {
      // Without a group a call is one of all ranks.
      for (const auto& [number, place] : by_rank_) operation.ranks.push_back(number);
    }
    return operation;
  }

  std::vector<Operation> batch(const Member& member, const Node& node, const Entry& entry) {
    const Side& side = *member.side;
    std::vector<Operation> operations;
    for (std::uint32_t i = entry.first; i < entry.last; ++i) {
      const Parameter& one = side.parameters[i];
      if (one.whole || !side.text(one.name).starts_with(".output.0")) continue;
      const auto peer = whole(side.role(one, Role::peer));
      const Value op = side.role(one, Role::op);
      if (!peer || op.kind != Kind::text) {
        lacks(member, node, "op or peer");
        continue;
      }
      Operation operation;
      operation.entry = node.entry;
      operation.place = operations.size();
      operation.api = side.text(op.text);
      const bool sends = operation.api == "isend";
      operation.type = sends ? "send" : "receive";
      operation.kind = Pattern::point_to_point;
      operation.peer = *peer;
      operation.output = i;
      const std::string group = "batch " + side.value_text(side.role(one, Role::group_id));
      operation.key = {operation.api, *peer, group, 0};
      operation.partner_key = {sends ? "irecv" : "isend", member.rank->rank, group, 0};
      operations.push_back(std::move(operation));
    }
    return operations;
  }

  Member* member_of(std::uint64_t rank) {
    const auto found = by_rank_.find(rank);
    return found == by_rank_.end() ? nullptr : &members_[found->second];
  }

  const Operation* operation_of(const Member& member, const Key& key) const {
    const auto found = member.by_key.find(key);
    return found == member.by_key.end() ? nullptr : &member.operations[found->second];
  }

  void link(Member& member, const Operation& operation) {
    if (operation.kind == Pattern::point_to_point) {
      Member* other = member_of(operation.peer);
      const Operation* partner = other == nullptr ? nullptr : operation_of(*other, operation.partner_key);
      if (partner == nullptr || partner->peer != member.rank->rank) return;
      if (dialect_ == Dialect::vis && !same_content(member, operation, *other, *partner)) return;
      add_partner(member, operation, operation.type, *other, *partner);
      return;
    }
    if (operation.kind != Pattern::symmetric && operation.peer != member.rank->rank) return;
    for (const std::uint64_t rank : operation.ranks) {
      if (rank == member.rank->rank) continue;
      Member* other = member_of(rank);
      const Operation* partner = other == nullptr ? nullptr : operation_of(*other, operation.key);
      if (partner == nullptr) continue;
      add_partner(member, operation, operation.type, *other, *partner);
      if (operation.kind != Pattern::symmetric) {
        add_partner(*other, *partner, other_type(operation.type), member, operation);
      }
    }
  }

  bool same_content(const Member& member, const Operation& operation, const Member& other,
                    const Operation& partner) const {
    if (operation.output == no_index || partner.output == no_index) return operation.output == partner.output;
    for (const Role role : {Role::dtype, Role::shape, Role::max, Role::min, Role::mean, Role::norm}) {
      if (!same_value(*member.side, member.side->role(member.side->parameters[operation.output], role), *other.side,
                      other.side->role(other.side->parameters[partner.output], role))) {
        return false;
      }
    }
    return true;
  }

  std::string index_text(const Member& member, const Operation& operation) const {
    const Overflow level = member.side->entries[operation.entry].overflow;
    if (level != Overflow::none) return std::string(overflow_text(level));
    if (!member.npu) return "Nan";
    const std::vector<Index>& indices = *indices_[by_rank_.at(member.rank->rank)];
    const std::uint32_t node = member.graph->tree.find(member.side->text(member.side->entries[operation.entry].name));
    if (node >= indices.size() || !indices[node].set) return "Nan";
    std::string text;
    append_index(text, indices[node]);
    return text;
  }

  void add_partner(Member& member, const Operation& operation, std::string_view type, const Member& other,
                   const Operation& partner) {
    Links& links = member.graph->links[operation.entry];
    const bool first_of_operation = placed_.emplace(&operation, links.links.size()).second;
    if (first_of_operation) links.links.push_back({std::string(type), {}});
    links.list = links.links.size() > 1;
    links.links[placed_.at(&operation)].partners.push_back(
        {other.rank->rank, index_text(other, partner),
         std::string(other.side->text(other.side->entries[partner.entry].name))});
  }

  const Dialect dialect_;
  const Warn& warn_;
  std::vector<Member> members_;
  std::vector<const std::vector<Index>*> indices_;
  std::map<std::uint64_t, std::size_t> by_rank_;
  std::map<const Operation*, std::size_t> placed_;
};

}  // namespace

void link_ranks(const std::vector<RankGraph*>& ranks, const Warn& warn) {
  if (ranks.size() < 2) return;
  for (const Dialect dialect : {Dialect::vis, Dialect::db}) {
    for (const bool npu : {true, false}) Linker(ranks, dialect, npu, warn).run();
  }
}

}  // namespace msrun::graph
