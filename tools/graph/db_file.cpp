#include "tools/graph/db_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kernels/base/text.h"
#include "kernels/base/unique_fd.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/files/temporary_name.h"
#include "tools/graph/overflow.h"
#include "tools/graph/tasks.h"
#include "tools/graph/text.h"

namespace msrun::graph {
namespace {

constexpr const char* tables = R"(
CREATE TABLE tb_nodes (
    id TEXT PRIMARY KEY,
    graph_id TEXT NOT NULL,
    node_order INTEGER NOT NULL,
    node_name TEXT NOT NULL,
    node_type TEXT NOT NULL,
    up_node TEXT,
    sub_nodes TEXT,
    precision_index INTEGER,
    overflow_level TEXT,
    micro_step_id INTEGER NOT NULL,
    matched_node_link TEXT,
    stack_id TEXT,
    parallel_merge_info TEXT,
    matched_distributed TEXT,
    modified INTEGER NOT NULL,
    input_data TEXT,
    output_data TEXT,
    data_source TEXT,
    dump_data_dir TEXT,
    step INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    is_distributed INTEGER
);
CREATE TABLE tb_stack (
    id TEXT PRIMARY KEY,
    stack_info TEXT
);
CREATE TABLE tb_config (
    id TEXT PRIMARY KEY,
    graph_type TEXT NOT NULL,
    task TEXT,
    tool_tip TEXT,
    micro_steps INTEGER,
    overflow_check INTEGER,
    node_colors TEXT NOT NULL,
    rank_list TEXT NOT NULL,
    step_list TEXT NOT NULL
);
)";

constexpr const char* indexes = R"(
CREATE INDEX index1 ON tb_nodes (step, rank, data_source, up_node, node_order);
CREATE INDEX index2 ON tb_nodes (step, rank, data_source, node_name);
CREATE INDEX index3 ON tb_nodes (step, rank, data_source, node_order);
CREATE INDEX index4 ON tb_nodes (step, rank, node_order);
CREATE INDEX index5 ON tb_nodes (step, rank, micro_step_id, node_order);
CREATE INDEX index6 ON tb_nodes (step, rank, modified, matched_node_link);
CREATE INDEX index7 ON tb_nodes (is_distributed);
)";

constexpr const char* insert_node = "INSERT INTO tb_nodes VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
constexpr const char* insert_stack = "INSERT INTO tb_stack VALUES (?,?)";
constexpr const char* insert_config = "INSERT INTO tb_config VALUES (?,?,?,?,?,?,?,?,?)";

// Binds the values of a row from left to right. Texts must live until the row is inserted.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}

  void text(std::string_view text) {
    const char* const data = text.data() == nullptr ? "" : text.data();  // SQLite takes a null pointer for NULL
    sqlite3_bind_text64(statement_, ++column_, data, text.size(), nullptr, SQLITE_UTF8);
  }
  void number(std::int64_t number) { sqlite3_bind_int64(statement_, ++column_, number); }
  void real(double number) { sqlite3_bind_double(statement_, ++column_, number); }
  void null() { sqlite3_bind_null(statement_, ++column_); }
  bool insert() {
    const bool done = sqlite3_step(statement_) == SQLITE_DONE;
    return sqlite3_reset(statement_) == SQLITE_OK && done;
  }

 private:
  sqlite3_stmt* statement_;
  int column_ = 0;
};

std::string list_of(const std::set<std::uint64_t>& numbers) {
  std::string text = "[";
  for (const std::uint64_t number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

}  // namespace

// Whoever else may write into the folder can lead no byte elsewhere: the file is a new one.
DbFile::DbFile(const Folder& folder, std::string name, std::string temporary)
    : folder_(folder), name_(std::move(name)), temporary_(std::move(temporary)) {
  struct stat status {};
  if (::fstatat(folder_.descriptor(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    throw WriteError("The file " + folder_.path_of(name_) + " is there already and is not replaced.");
  }
  const UniqueFd made(
      ::openat(folder_.descriptor(), temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!made) {
    throw WriteError("The file " + folder_.path_of(temporary_) + " cannot be created: " + errno_text() + ".");
  }
}

// What is thrown here leaves nothing open and no file: the other constructor has ended, so that this is destroyed.
DbFile::DbFile(const Folder& folder, const std::string& name)
    : DbFile(folder, name, temporary_name(folder, "graph.vis.db") + temporary_suffix) {
  // SQLite opens by path, and then refuses a link anywhere in it. The folder itself may lie behind one.
  std::error_code error;
  const std::filesystem::path there = std::filesystem::canonical(folder_.path(), error) / temporary_;
  if (sqlite3_open_v2(error ? folder_.path_of(temporary_).c_str() : there.c_str(), &database_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, nullptr) != SQLITE_OK) {
    throw WriteError("The file " + folder_.path_of(temporary_) + " cannot be opened: " + sqlite3_errmsg(database_) +
                     ".");
  }
  // Nobody else sees the file before it is complete, so that neither a journal nor a flush is needed. Rows are a few
  // kilobytes, of which pages of SQLite's own choice, 4096 bytes, hold one or a part of one: the file would be a third
  // larger, and what the indexes need, which stands at the end of a row, often on another page. Each of the indexes
  // reads the whole table, which the mapping spares copies of.
  run("PRAGMA page_size=32768; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; "
      "PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY; PRAGMA threads=2; PRAGMA mmap_size=2147418112;");
  run("BEGIN");
  run(tables);
  if (sqlite3_prepare_v2(database_, insert_node, -1, &insert_node_, nullptr) != SQLITE_OK) fail();
  if (sqlite3_prepare_v2(database_, insert_stack, -1, &insert_stack_, nullptr) != SQLITE_OK) fail();
}

DbFile::~DbFile() {
  sqlite3_finalize(insert_node_);
  sqlite3_finalize(insert_stack_);
  sqlite3_close(database_);
  if (!temporary_.empty()) ::unlinkat(folder_.descriptor(), temporary_.c_str(), 0);
}

void DbFile::fail() const {
  throw WriteError("The file " + folder_.path_of(temporary_) + " cannot be written: " + sqlite3_errmsg(database_) +
                   ".");
}

void DbFile::run(const char* statement) {
  if (sqlite3_exec(database_, statement, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void DbFile::add(const RankGraph& rank, std::size_t threads) {
  if (micro_steps_ == 0) micro_steps_ = rank.db->micro_step_count;
  compared_ = rank.compared();
  mode_ = rank.mode;
  ranks_.insert(rank.rank);
  steps_.insert(rank.step);
  add_side(DbRows(rank, true), threads);
  if (rank.bench) add_side(DbRows(rank, false), threads);
}

void DbFile::add_side(const DbRows& rows, std::size_t threads) {
  constexpr std::size_t piece = 128;  // rows
  stacks_.clear();
  stack_of_frames_.clear();
  const std::vector<std::uint32_t>& nodes = rows.graph().tree.postorder;
  std::vector<std::array<DbTexts, piece>> places(2 * threads);
  const auto each = [&](std::size_t number, const auto& work) {
    const std::size_t first = number * piece;
    for (std::size_t i = first; i < std::min(first + piece, nodes.size()); ++i) work(i, i - first);
  };
  OrderedSteps work;
  work.make = [&](std::size_t number, std::size_t place) {
    each(number, [&](std::size_t i, std::size_t at) { rows.make(nodes[i], places[place][at]); });
  };
  work.take = [&](std::size_t number, std::size_t place) {
    each(number, [&](std::size_t i, std::size_t at) {
      add_node(rows, nodes[i], places[place][at], static_cast<std::int64_t>(i));
    });
  };
  for_each_in_order((nodes.size() + piece - 1) / piece, threads, places.size(), work);
}

const std::string& DbFile::stack_of(const DbRows& rows, const Node& node) {
  std::string list;
  if (node.lost_stack) {
    append_list(list, std::array{lost_stack_text}, on_one_line, 0, [](std::string_view text) { return text; });
    return stack_of(rows.graph_id(), std::move(list));
  }
  const Stack stack = shown_stack(rows.side(), node, true);
  const auto first = rows.side().frames.begin() + stack.first;
  frames_.assign(first, first + stack.count);
  const auto [place, is_new] = stack_of_frames_.emplace(frames_, nullptr);
  if (is_new) {
    append_list(list, frames_, on_one_line, 0, [&](TextId id) { return rows.side().text(id); });
    place->second = &stack_of(rows.graph_id(), std::move(list));
  }
  return *place->second;
}

// The list is looked for as well, as different frames may be the same JSON.
const std::string& DbFile::stack_of(const std::string& graph, std::string list) {
  const auto known = stacks_.find(list);
  if (known != stacks_.end()) return known->second;
  const std::string id = graph + "_" + std::to_string(stacks_.size());
  Row row(insert_stack_);
  row.text(id);
  row.text(list);
  if (!row.insert()) fail();
  return stacks_.emplace(std::move(list), id).first->second;
}

void DbFile::add_node(const DbRows& rows, std::uint32_t number, const DbTexts& texts, std::int64_t order) {
  constexpr std::array<std::string_view, 10> types{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  const SideGraph& graph = rows.graph();
  const Node& node = graph.tree.nodes[number];
  Row row(insert_node_);
  row.text(texts.id);
  row.text(rows.graph_id());
  row.number(order);
  row.text(node.name);
  row.text(types[static_cast<std::size_t>(node.type)]);
  row.text(node.parent == no_index ? std::string_view("") : graph.tree.nodes[node.parent].name);
  row.text(texts.children);
  const Index* index = rows.index_of(number);
  index != nullptr ? row.real(index->value) : row.null();
  const Overflow level = node.entry == no_index ? Overflow::none : rows.side().entries[node.entry].overflow;
  level == Overflow::none ? row.null() : row.text(overflow_text(level));
  row.number(number == 0 ? 0 : graph.micro_steps[number]);
  row.text(texts.link);
  row.text(stack_of(rows, node));
  row.text("");
  row.text(texts.distributed);
  row.number(0);
  row.text(texts.input);
  row.text(texts.output);
  row.text(rows.source());
  rows.directory().empty() ? row.null() : row.text(rows.directory());
  row.number(static_cast<std::int64_t>(rows.rank().step));
  row.number(static_cast<std::int64_t>(rows.rank().rank));
  row.number(node.name.starts_with("Distributed") ? 1 : 0);
  if (!row.insert()) fail();
}

void DbFile::publish(bool overflow, Language language) {
  sqlite3_stmt* config = nullptr;
  if (sqlite3_prepare_v2(database_, insert_config, -1, &config, nullptr) != SQLITE_OK) fail();
  const std::string tips = tool_tips(mode_, language);
  const std::string colour_texts = compared_ ? colours(Dialect::db, mode_, language, false) : "null";
  const std::string rank_list = list_of(ranks_);
  const std::string step_list = list_of(steps_);
  Row row(config);
  row.text("1");
  row.text(compared_ ? "compare" : "build");
  row.text(compared_ ? mode_text(mode_) : std::string_view(""));
  compared_ ? row.text(tips) : row.null();
  row.number(micro_steps_);
  row.number(overflow ? 1 : 0);
  row.text(colour_texts);
  row.text(rank_list);
  row.text(step_list);
  const bool inserted = row.insert();
  sqlite3_finalize(config);
  if (!inserted) fail();
  run(indexes);
  run("COMMIT");
  sqlite3_finalize(insert_node_);
  sqlite3_finalize(insert_stack_);
  insert_node_ = insert_stack_ = nullptr;
  if (sqlite3_close(database_) != SQLITE_OK) fail();
  database_ = nullptr;
  // Unlike rename(), this replaces nothing.
  const int folder = folder_.descriptor();
  int failed = ::renameat2(folder, temporary_.c_str(), folder, name_.c_str(), RENAME_NOREPLACE);
  // Some file systems lack it, and some kernels.
  if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) {
    failed = ::renameat(folder, temporary_.c_str(), folder, name_.c_str());
  }
  if (failed != 0) {
    throw WriteError("The file " + folder_.path_of(name_) + " cannot be created: " + errno_text() + ".");
  }
  temporary_.clear();
}

}  // namespace msrun::graph
