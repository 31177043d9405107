#include "tools/graph/db_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kernels/io/files/paths.h"
#include "tools/graph/overflow.h"
#include "tools/graph/text.h"
#include "tools/graph/vis_file.h"

namespace msrun::graph {
namespace {

constexpr JsonStyle on_one_line(false);

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
    sqlite3_bind_text64(statement_, ++column_, text.data(), text.size(), nullptr, SQLITE_UTF8);
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

// Where the tensors of the recording are now: the folder that it names, or the one beside dump.json.
std::string data_dir(const Side& side) {
  namespace fs = std::filesystem;
  if (side.data_dir.empty()) return {};
  std::error_code error;
  const fs::path folder = fs::absolute(side.folder, error).lexically_normal();
  const fs::path here = folder.has_filename() ? folder : folder.parent_path();
  if (fs::path(side.data_dir).lexically_normal().parent_path() == here) return side.data_dir;
  return (here / "dump_tensor_data").string();
}

}  // namespace

DbFile::DbFile(std::string path, std::string temporary) : path_(std::move(path)), temporary_(std::move(temporary)) {
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(path_, error))) {
    throw WriteError("The file " + path_ + " is there already and is not replaced.");
  }
}

// What is thrown here leaves nothing open and no file: the other constructor has ended, so that this is destroyed.
DbFile::DbFile(const Folder& folder, const std::string& name)
    : DbFile(folder.path_of(name), folder.path_of(name + "." + std::to_string(getpid()) + ".tmp")) {
  std::error_code error;
  std::filesystem::remove(temporary_, error);
  if (sqlite3_open_v2(temporary_.c_str(), &database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) !=
      SQLITE_OK) {
    throw WriteError("The file " + temporary_ + " cannot be created: " + sqlite3_errmsg(database_) + ".");
  }
  // Nobody else sees the file before it is complete, so that neither a journal nor a flush is needed.
  run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536; "
      "PRAGMA temp_store=MEMORY; PRAGMA threads=2;");
  run("BEGIN");
  run(tables);
  if (sqlite3_prepare_v2(database_, insert_node, -1, &insert_node_, nullptr) != SQLITE_OK) fail();
  if (sqlite3_prepare_v2(database_, insert_stack, -1, &insert_stack_, nullptr) != SQLITE_OK) fail();
}

DbFile::~DbFile() {
  sqlite3_finalize(insert_node_);
  sqlite3_finalize(insert_stack_);
  sqlite3_close(database_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void DbFile::fail() const {
  throw WriteError("The file " + temporary_ + " cannot be written: " + sqlite3_errmsg(database_) + ".");
}

void DbFile::run(const char* statement) {
  if (sqlite3_exec(database_, statement, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void DbFile::add(const RankGraph& rank) {
  if (micro_steps_ == 0) micro_steps_ = rank.db->micro_step_count;
  compared_ = rank.compared();
  mode_ = rank.mode;
  ranks_.insert(rank.rank);
  steps_.insert(rank.step);
  add_side(rank, true);
  if (rank.bench) add_side(rank, false);
}

void DbFile::add_side(const RankGraph& rank, bool npu) {
  stacks_.clear();
  std::int64_t order = 0;
  const SideGraph& graph = npu ? rank.db->npu : *rank.db->bench;
  for (const std::uint32_t node : graph.tree.postorder) add_node(rank, npu, node, order++);
}

std::string DbFile::stack_of(const Side& side, const Node& node, const std::string& graph) {
  std::string list;
  if (node.lost_stack) {
    append_list(list, std::array{lost_stack_text}, on_one_line, 0, [](std::string_view text) { return text; });
  } else {
    const Stack stack = shown_stack(side, node, true);
    append_list(list, std::span(side.frames).subspan(stack.first, stack.count), on_one_line, 0,
                [&](TextId id) { return side.text(id); });
  }
  const auto known = stacks_.find(list);
  if (known != stacks_.end()) return known->second;
  const std::string id = graph + "_" + std::to_string(stacks_.size());
  Row row(insert_stack_);
  row.text(id);
  row.text(list);
  if (!row.insert()) fail();
  stacks_.emplace(std::move(list), id);
  return id;
}

void DbFile::add_node(const RankGraph& rank, bool npu, std::uint32_t number, std::int64_t order) {
  const DialectGraph& dialect = *rank.db;
  const Side& side = npu ? rank.npu : *rank.bench;
  const SideGraph& graph = npu ? dialect.npu : *dialect.bench;
  const Tree& tree = graph.tree;
  const Node& node = tree.nodes[number];
  const std::string source = npu ? "NPU" : "Bench";
  const std::string graph_id = source + "_" + std::to_string(rank.step) + "_" + std::to_string(rank.rank);
  const std::string id = graph_id + "_" + std::string(node.name);
  std::string children;
  if (!node.children.empty()) {
    append_list(children, node.children, on_one_line, 0, [&](std::uint32_t child) { return tree.nodes[child].name; });
  }
  const std::vector<std::uint32_t>& partners = npu ? dialect.matches.bench_of : dialect.matches.npu_of;
  const std::uint32_t partner = number < partners.size() ? partners[number] : no_index;
  std::string link = "[]";
  if (partner != no_index) {
    const Tree& other = npu ? dialect.bench->tree : dialect.npu.tree;
    link.clear();
    append_list(link, other.path(partner), on_one_line, 0, [&](std::uint32_t at) { return other.nodes[at].name; });
  }
  const std::string stack = stack_of(side, node, graph_id);
  std::string distributed = "{}";
  if (const auto links = graph.links.find(node.entry); node.entry != no_index && links != graph.links.end()) {
    distributed.clear();
    append_links(distributed, links->second, on_one_line, 0);
  }
  const std::vector<Judged> judged = npu ? judged_of(rank, dialect, number) : std::vector<Judged>();
  const ShownData data{side, node.entry == no_index ? nullptr : &side.entries[node.entry], judged, dialect.rules};
  input_.clear();
  append_data(input_, data, false, on_one_line, 0);
  output_.clear();
  append_data(output_, data, true, on_one_line, 0);
  const std::string type = std::to_string(static_cast<int>(node.type));
  const std::string directory = data_dir(side);

  Row row(insert_node_);
  row.text(id);
  row.text(graph_id);
  row.number(order);
  row.text(node.name);
  row.text(type);
  row.text(node.parent == no_index ? std::string_view("") : tree.nodes[node.parent].name);
  row.text(children);
  const bool judged_here = npu && number < dialect.indices.size() && dialect.indices[number].set;
  judged_here ? row.real(dialect.indices[number].value) : row.null();
  const Overflow level = node.entry == no_index ? Overflow::none : side.entries[node.entry].overflow;
  level == Overflow::none ? row.null() : row.text(overflow_text(level));
  row.number(number == 0 ? 0 : graph.micro_steps[number]);
  row.text(link);
  row.text(stack);
  row.text("");
  row.text(distributed);
  row.number(0);
  row.text(input_);
  row.text(output_);
  row.text(source);
  side.data_dir.empty() ? row.null() : row.text(directory);
  row.number(static_cast<std::int64_t>(rank.step));
  row.number(static_cast<std::int64_t>(rank.rank));
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
  int failed = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
  // Some file systems lack it.
  if (failed != 0 && errno == EINVAL) failed = ::rename(temporary_.c_str(), path_.c_str());
  if (failed != 0) {
    throw WriteError("The file " + path_ + " cannot be created: " + std::system_category().message(errno) + ".");
  }
  temporary_.clear();
}

}  // namespace msrun::graph
