#include "tools/graph/db_rows.h"

#include <filesystem>
#include <system_error>

#include "kernels/io/dump/tensor_folder.h"
#include "tools/graph/text.h"
#include "tools/graph/vis_file.h"

namespace msrun::graph {
namespace {

// Where the tensors of the recording are now: the folder that it names, or the one beside dump.json.
std::string data_dir(const Side& side) {
  namespace fs = std::filesystem;
  if (side.data_dir.empty()) return {};
  std::error_code error;
  const fs::path folder = fs::absolute(side.folder, error).lexically_normal();
  const fs::path here = folder.has_filename() ? folder : folder.parent_path();
  if (fs::path(side.data_dir).lexically_normal().parent_path() == here) return side.data_dir;
  return (here / tensor_folder_name).string();
}

}  // namespace

DbRows::DbRows(const RankGraph& rank, bool npu)
    : rank_(rank),
      npu_(npu),
      side_(npu ? rank.npu : *rank.bench),
      graph_(npu ? rank.db->npu : *rank.db->bench),
      source_(npu ? "NPU" : "Bench"),
      graph_id_(source_ + "_" + std::to_string(rank.step) + "_" + std::to_string(rank.rank)),
      directory_(data_dir(side_)) {}

void DbRows::make(std::uint32_t number, DbTexts& texts) const {
  const DialectGraph& dialect = *rank_.db;
  const Tree& tree = graph_.tree;
  const Node& node = tree.nodes[number];
  texts.id = graph_id_;
  texts.id += '_';
  texts.id += node.name;
  texts.children.clear();
  if (!node.children.empty()) {
    append_list(texts.children, node.children, on_one_line, 0,
                [&](std::uint32_t child) { return tree.nodes[child].name; });
  }
  const std::vector<std::uint32_t>& partners = npu_ ? dialect.matches.bench_of : dialect.matches.npu_of;
  const std::uint32_t partner = number < partners.size() ? partners[number] : no_index;
  texts.link.clear();
  if (partner == no_index) {
    texts.link = "[]";
  } else {
    const Tree& other = npu_ ? dialect.bench->tree : dialect.npu.tree;
    append_list(texts.link, other.path(partner), on_one_line, 0,
                [&](std::uint32_t at) { return other.nodes[at].name; });
  }
  texts.distributed.clear();
  const auto links = node.entry == no_index ? graph_.links.end() : graph_.links.find(node.entry);
  if (links == graph_.links.end()) {
    texts.distributed = "{}";
  } else {
    append_links(texts.distributed, links->second, on_one_line, 0);
  }
  const std::vector<Judged> judged = npu_ ? judged_of(rank_, dialect, number) : std::vector<Judged>();
  const ShownData data{side_, node.entry == no_index ? nullptr : &side_.entries[node.entry], judged, dialect.rules};
  texts.input.clear();
  append_data(texts.input, data, false, on_one_line, 0);
  texts.output.clear();
  append_data(texts.output, data, true, on_one_line, 0);
}

const Index* DbRows::index_of(std::uint32_t node) const {
  const std::vector<Index>& indices = rank_.db->indices;
  return npu_ && node < indices.size() && indices[node].set ? &indices[node] : nullptr;
}

}  // namespace msrun::graph
