// The file .vis.db: a SQLite database of all steps and ranks, which the newer viewers open
// (graph_visualization.md 11.3).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/io/files/folder.h"
#include "tools/graph/captions.h"
#include "tools/graph/db_rows.h"
#include "tools/graph/rank_graph.h"

struct sqlite3;
struct sqlite3_stmt;

namespace msrun::graph {

// Written in one transaction under a temporary name, and given its own by publish(); destroyed without that it is gone.
// Of a process that was killed the next one removes it. Errors are WriteError.
class DbFile {
 public:
  // Refuses a name that is taken.
  DbFile(const Folder& folder, const std::string& name);
  DbFile(const DbFile&) = delete;
  DbFile& operator=(const DbFile&) = delete;
  ~DbFile();

  // rank.db must be there. Rows are made on so many threads, of which the caller's is one.
  void add(const RankGraph& rank, std::size_t threads);
  // Indexes, the one row of settings, and the name. At least one rank has been added.
  void publish(bool overflow, Language language);

 private:
  DbFile(const Folder& folder, std::string name, std::string temporary);

  void run(const char* statement);
  void add_side(const DbRows& rows, std::size_t threads);
  void add_node(const DbRows& rows, std::uint32_t number, const DbTexts& texts, std::int64_t order);
  const std::string& stack_of(const DbRows& rows, const Node& node);
  const std::string& stack_of(const std::string& graph, std::string list);
  [[noreturn]] void fail() const;

  Folder folder_;
  std::string name_;
  std::string temporary_;  // empty: there is none
  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_node_ = nullptr;
  sqlite3_stmt* insert_stack_ = nullptr;
  // Of the graph that is being added, what is known of its stacks: list -> id, and frames -> id.
  std::unordered_map<std::string, std::string> stacks_;
  std::map<std::vector<TextId>, const std::string*> stack_of_frames_;
  std::vector<TextId> frames_;
  bool compared_ = false;
  Mode mode_ = Mode::summary;
  std::int64_t micro_steps_ = 0;  // of the graph that came first; 0: none has come
  std::set<std::uint64_t> ranks_;
  std::set<std::uint64_t> steps_;
};

}  // namespace msrun::graph
