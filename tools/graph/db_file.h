// The file .vis.db: a SQLite database of all steps and ranks, which the newer viewers open
// (graph_visualization.md 11.3).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>

#include "kernels/io/files/folder.h"
#include "tools/graph/captions.h"
#include "tools/graph/rank_graph.h"

struct sqlite3;
struct sqlite3_stmt;

namespace msrun::graph {

// Written in one transaction under a temporary name, "<name>.tmp", and given its own by publish(); destroyed without
// that it is gone. Errors are WriteError.
class DbFile {
 public:
  // Refuses a name that is taken.
  DbFile(const Folder& folder, const std::string& name);
  DbFile(const DbFile&) = delete;
  DbFile& operator=(const DbFile&) = delete;
  ~DbFile();

  // rank.db must be there.
  void add(const RankGraph& rank);
  // Indexes, the one row of settings, and the name. At least one rank has been added.
  void publish(bool overflow, Language language);

 private:
  DbFile(std::string path, std::string temporary);

  void run(const char* statement);
  void add_side(const RankGraph& rank, bool npu);
  void add_node(const RankGraph& rank, bool npu, std::uint32_t number, std::int64_t order);
  std::string stack_of(const Side& side, const Node& node, const std::string& graph);
  [[noreturn]] void fail() const;

  std::string path_;
  std::string temporary_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_node_ = nullptr;
  sqlite3_stmt* insert_stack_ = nullptr;
  std::unordered_map<std::string, std::string> stacks_;  // of the graph that is being added: list -> id
  std::string input_;
  std::string output_;
  bool compared_ = false;
  Mode mode_ = Mode::summary;
  std::int64_t micro_steps_ = 0;  // of the graph that came first; 0: none has come
  std::set<std::uint64_t> ranks_;
  std::set<std::uint64_t> steps_;
};

}  // namespace msrun::graph
