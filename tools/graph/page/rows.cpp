#include "tools/graph/page/rows.h"

#include <algorithm>
#include <stdexcept>

namespace msrun::graph {

namespace {

using Nodes = std::vector<std::uint32_t>;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

void check_partners(const PageTree& tree, const PageTree* other) {
  for (const PageNode& node : tree.nodes) {
    const auto& partner = node.partner;
    if (!partner) continue;
    require(other != nullptr && *partner < other->nodes.size(), "a node's partner is in no tree");
    require(other->nodes[*partner].partner.has_value(), "a node's partner has no partner");
  }
}

// Keeps the most places that rise among those that belong to the elements; the others become none. A place is an index
// below elements.size() or of any size; none is no_node.
void keep_rising(Nodes& places) {
  std::vector<std::size_t> tails;                  // the element that ends the best row of each length
  std::vector<std::size_t> before(places.size());  // the one before an element in its row
  constexpr std::size_t first = static_cast<std::size_t>(-1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] == no_node) continue;
    const auto tail = std::ranges::lower_bound(tails, places[i], {}, [&](std::size_t k) { return places[k]; });
    before[i] = tail == tails.begin() ? first : *(tail - 1);
    if (tail == tails.end()) {
      tails.push_back(i);
    } else {
      *tail = i;
    }
  }
  Nodes kept(places.size(), no_node);
  for (std::size_t i = tails.empty() ? first : tails.back(); i != first; i = before[i]) kept[i] = places[i];
  places = std::move(kept);
}

class RowBuilder {
 public:
  RowBuilder(const PageTree& target, const PageTree* bench)
      : target_(target), bench_(bench), place_(bench == nullptr ? 0 : bench->nodes.size(), no_node) {}

  std::vector<PageRow> build() {
    require(!target_.nodes.empty() && (bench_ == nullptr || !bench_->nodes.empty()), "a tree has no root");
    if (bench_ == nullptr || target_.nodes[0].partner == 0U) {
      pending_.push_back({0, bench_ == nullptr ? no_node : 0, 0});
    } else {
      pending_.push_back({no_node, 0, 0});
      pending_.push_back({0, no_node, 0});
    }
    const std::size_t count = target_.nodes.size() + (bench_ == nullptr ? 0 : bench_->nodes.size());
    std::size_t met = 0;
    while (!pending_.empty()) {
      const PageRow row = pending_.back();
      pending_.pop_back();
      met += (row.target == no_node ? 0U : 1U) + (row.bench == no_node ? 0U : 1U);
      require(met <= count, "a node is reached more than once");
      rows_.push_back(row);
      add_children(row);
    }
    require(met == count, "a node is not reached from the root");
    return std::move(rows_);
  }

 private:
  static const Nodes& children_of(const PageTree* tree, std::uint32_t node) {
    static const Nodes none;
    if (node == no_node) return none;
    for (const std::uint32_t child : tree->nodes[node].children) {
      require(child < tree->nodes.size(), "a node's child is in no tree");
    }
    return tree->nodes[node].children;
  }

  // The last comes first, as they are taken from the end.
  void add_children(const PageRow& row) {
    const Nodes& left = children_of(&target_, row.target);
    const Nodes& right = children_of(bench_, row.bench);
    const std::uint32_t depth = row.depth + 1;
    for (std::uint32_t i = 0; i < right.size(); ++i) place_[right[i]] = i;
    Nodes places(left.size(), no_node);
    for (std::size_t i = 0; i < left.size() && !right.empty(); ++i) {
      const auto& partner = target_.nodes[left[i]].partner;
      // Where several have one partner, that which the partner names stands beside it.
      if (partner && bench_->nodes[*partner].partner == left[i]) places[i] = place_[*partner];
    }
    for (const std::uint32_t node : right) place_[node] = no_node;
    keep_rising(places);
    std::size_t behind = right.size();
    for (std::size_t i = left.size(); i-- > 0;) {
      if (places[i] == no_node) {
        waiting_.push_back(left[i]);
        continue;
      }
      add_between(right, places[i] + 1, behind, depth);
      pending_.push_back({left[i], right[places[i]], depth});
      behind = places[i];
    }
    add_between(right, 0, behind, depth);
  }

  // Children between two rows that both sides share.
  void add_between(const Nodes& right, std::size_t begin, std::size_t end, std::uint32_t depth) {
    for (std::size_t i = end; i > begin; --i) pending_.push_back({no_node, right[i - 1], depth});
    for (const std::uint32_t node : waiting_) pending_.push_back({node, no_node, depth});
    waiting_.clear();
  }

  const PageTree& target_;
  const PageTree* bench_;
  std::vector<PageRow> rows_;
  std::vector<PageRow> pending_;
  Nodes waiting_;  // children of the target without a row, the last first
  Nodes place_;    // of a child of the bench among its siblings, while they are looked at
};

}  // namespace

std::vector<PageRow> page_rows(const PageTree& target, const PageTree* bench) {
  check_partners(target, bench);
  if (bench != nullptr) check_partners(*bench, &target);
  return RowBuilder(target, bench).build();
}

}  // namespace msrun::graph
