#include "tools/graph/vis_file.h"

#include "tools/graph/overflow.h"
#include "tools/graph/text.h"

namespace msrun::graph {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20;
constexpr JsonStyle indented(true);

class VisWriter {
 public:
  VisWriter(const RankGraph& rank, const FileOptions& options, const std::function<void(std::string_view)>& write)
      : rank_(rank), graph_(*rank.vis), options_(options), write_(write) {}

  void run() {
    out_ += '{';
    if (!rank_.bench) {
      write_graph(rank_.npu, graph_.npu, true, 1);
      member("MicroSteps", 1);
      out_ += std::to_string(graph_.micro_step_count);
    } else {
      write_both();
    }
    member("OverflowCheck", 1);
    out_ += options_.overflow ? "true" : "false";
    out_ += "\n}";
    write_(out_);
  }

 private:
  void member(std::string_view name, int depth, bool first = false) {
    indented.member(out_, first, depth);
    out_ += '"';
    out_ += name;
    out_ += "\": ";
  }

  void write_both() {
    member("NPU", 1, true);
    out_ += '{';
    write_graph(rank_.npu, graph_.npu, true, 2);
    indented.close(out_, 1);
    out_ += '}';
    member("Bench", 1);
    out_ += '{';
    write_graph(*rank_.bench, *graph_.bench, false, 2);
    indented.close(out_, 1);
    out_ += '}';
    member("ToolTip", 1);
    append_json(out_, tool_tips(rank_.mode, options_.language));
    member("Colors", 1);
    out_ += colours(Dialect::vis, rank_.mode, options_.language, true);
    member("MicroSteps", 1);
    out_ += std::to_string(graph_.micro_step_count);
    member("task", 1);
    append_json(out_, mode_text(rank_.mode));
  }

  void write_graph(const Side& side, const SideGraph& graph, bool npu, int depth) {
    member("root", depth, true);
    append_json(out_, graph.tree.nodes[0].name);
    member("dump_data_dir", depth);
    if (side.has_data_dir && side.null_data_dir) {
      out_ += "null";
    } else {
      append_json(out_, side.data_dir);
    }
    member("node", depth);
    out_ += '{';
    for (std::uint32_t node = 0; node < graph.tree.nodes.size(); ++node) {
      indented.member(out_, node == 0, depth + 1);
      write_node(side, graph, npu, node, depth + 1);
      if (out_.size() < piece) continue;
      write_(out_);
      out_.clear();
    }
    indented.close(out_, depth);
    out_ += '}';
  }

  void write_node(const Side& side, const SideGraph& graph, bool npu, std::uint32_t number, int depth) {
    const Tree& tree = graph.tree;
    const Node& node = tree.nodes[number];
    const int inner = depth + 1;
    const auto names = [](const Tree& of) { return [&of](std::uint32_t id) { return of.nodes[id].name; }; };
    append_json(out_, node.name);
    out_ += ": {";
    member("id", inner, true);
    append_json(out_, node.name);
    member("node_type", inner);
    out_ += std::to_string(static_cast<int>(node.type));
    const std::vector<Judged> judged = npu ? judged_of(rank_, graph_, number) : std::vector<Judged>();
    const ShownData data{side, node.entry == no_index ? nullptr : &side.entries[node.entry], judged, graph_.rules};
    member("output_data", inner);
    append_data(out_, data, true, indented, inner);
    member("input_data", inner);
    append_data(out_, data, false, indented, inner);
    member("upnode", inner);
    append_json(out_, node.parent == no_index ? std::string_view("None") : tree.nodes[node.parent].name);
    member("subnodes", inner);
    append_list(out_, node.children, indented, inner, names(tree));
    member("matched_node_link", inner);
    const std::uint32_t partner = partner_of(npu, number);
    if (partner == no_index) {
      out_ += "[]";
    } else {
      const Tree& other = npu ? graph_.bench->tree : graph_.npu.tree;
      append_list(out_, other.path(partner), indented, inner, names(other));
    }
    member("suggestions", inner);
    out_ += "{}";
    member("stack_info", inner);
    write_stack(side, node, inner);
    if (node.parent == 0) {
      member("micro_step_id", inner);
      out_ += std::to_string(graph.micro_steps[number]);
    }
    member("data", inner);
    write_facts(side, npu, number, node, inner);
    if (const auto links = graph.links.find(node.entry); node.entry != no_index && links != graph.links.end()) {
      member("matched_distributed", inner);
      append_links(out_, links->second, indented, inner);
    }
    indented.close(out_, depth);
    out_ += '}';
  }

  std::uint32_t partner_of(bool npu, std::uint32_t node) const {
    const std::vector<std::uint32_t>& partners = npu ? graph_.matches.bench_of : graph_.matches.npu_of;
    return node < partners.size() ? partners[node] : no_index;
  }

  void write_stack(const Side& side, const Node& node, int depth) {
    if (node.lost_stack) {
      append_list(out_, std::array{lost_stack_text}, indented, depth, [](std::string_view text) { return text; });
      return;
    }
    const Stack stack = shown_stack(side, node, options_.complete_stacks);
    append_list(out_, std::span(side.frames).subspan(stack.first, stack.count), indented, depth,
                [&](TextId id) { return side.text(id); });
  }

  void write_facts(const Side& side, bool npu, std::uint32_t number, const Node& node, int depth) {
    out_ += '{';
    bool first = true;
    const auto fact = [&](std::string_view name) {
      member(name, depth + 1, first);
      first = false;
    };
    if (npu && number < graph_.indices.size() && graph_.indices[number].set) {
      fact("precision_index");
      append_index(out_, graph_.indices[number]);
      if (rank_.mode == Mode::md5 && node.type != NodeType::collection) {
        fact("Result");
        append_json(out_, graph_.indices[number].value == 1 ? "pass" : "Different");
      }
    }
    if (node.entry != no_index && side.entries[node.entry].overflow != Overflow::none) {
      fact("overflow_level");
      append_json(out_, overflow_text(side.entries[node.entry].overflow));
    }
    if (!first) indented.close(out_, depth);
    out_ += '}';
  }

  const RankGraph& rank_;
  const DialectGraph& graph_;
  const FileOptions& options_;
  const std::function<void(std::string_view)>& write_;
  std::string out_;
};

void append_link(std::string& out, const Link& link, const JsonStyle& style, int depth) {
  out += '{';
  style.member(out, true, depth + 1);
  out += "\"communications_type\": ";
  append_json(out, link.type);
  style.member(out, false, depth + 1);
  out += "\"nodes_info\": {";
  bool first = true;
  for (const Link::Partner& partner : link.partners) {
    style.member(out, first, depth + 2);
    first = false;
    append_json(out, std::to_string(partner.rank));
    out += ": ";
    append_list(out, std::array<std::string_view, 2>{partner.index, partner.name}, style, depth + 2,
                [](std::string_view text) { return text; });
  }
  if (!first) style.close(out, depth + 1);
  out += '}';
  style.close(out, depth);
  out += '}';
}

}  // namespace

void write_vis(const RankGraph& rank, const FileOptions& options, const std::function<void(std::string_view)>& write) {
  VisWriter(rank, options, write).run();
}

void append_links(std::string& out, const Links& links, const JsonStyle& style, int depth) {
  if (!links.list) {
    append_link(out, links.links.front(), style, depth);
    return;
  }
  out += '[';
  bool first = true;
  for (const Link& link : links.links) {
    style.member(out, first, depth + 1);
    first = false;
    append_link(out, link, style, depth + 1);
  }
  if (!first) style.close(out, depth);
  out += ']';
}

}  // namespace msrun::graph
