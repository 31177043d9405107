// The texts of the rows of tb_nodes, made from the nodes of one recording (graph_visualization.md 11.3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/graph/rank_graph.h"

namespace msrun::graph {

// What is made anew for every row. Kept from row to row, so that its memory is used again.
struct DbTexts {
  std::string id;
  std::string children;
  std::string link;
  std::string distributed;
  std::string input;
  std::string output;
};

// The rows of one recording: texts that all of them share, and how those of a node are made.
class DbRows {
 public:
  // rank.db must be there, and live as long as this.
  DbRows(const RankGraph& rank, bool npu);

  const RankGraph& rank() const { return rank_; }
  const Side& side() const { return side_; }
  const SideGraph& graph() const { return graph_; }
  const std::string& source() const { return source_; }        // "NPU" or "Bench"
  const std::string& graph_id() const { return graph_id_; }    // "NPU_0_1"
  const std::string& directory() const { return directory_; }  // where its tensors are now; empty: it names no folder

  // Independent of all other nodes, so that several threads may do it at the same time.
  void make(std::uint32_t node, DbTexts& texts) const;
  // Null for a node without.
  const Index* index_of(std::uint32_t node) const;

 private:
  const RankGraph& rank_;
  const bool npu_;
  const Side& side_;
  const SideGraph& graph_;
  std::string source_;
  std::string graph_id_;
  std::string directory_;
};

}  // namespace msrun::graph
