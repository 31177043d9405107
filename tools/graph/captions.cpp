#include "tools/graph/captions.h"

#include <array>
#include <span>
#include <vector>

#include "tools/graph/text.h"

namespace msrun::graph {
namespace {

struct Caption {
  std::string_view name;
  std::array<std::string_view, 2> texts;  // by Language
};

constexpr auto summary_tips = std::to_array<Caption>({
    {"Max diff", {"maximum of the NPU tensor minus that of the benchmark", "NPU张量最大值减去标杆最大值"}},
    {"Min diff", {"minimum of the NPU tensor minus that of the benchmark", "NPU张量最小值减去标杆最小值"}},
    {"Mean diff", {"mean of the NPU tensor minus that of the benchmark", "NPU张量均值减去标杆均值"}},
    {"L2norm diff", {"L2 norm of the NPU tensor minus that of the benchmark", "NPU张量L2范数减去标杆L2范数"}},
});
constexpr auto md5_tips = std::to_array<Caption>({
    {"md5", {"checksum of the data: equal checksums mean equal bits", "数据校验和：相同即逐位一致"}},
});
constexpr auto tensor_tips = std::to_array<Caption>({
    {"One Thousandth Err Ratio",
     {"share of the elements whose relative error is below 0.001; 1 is best",
      "相对误差小于千分之一的元素占比，越接近1越好"}},
    {"Five Thousandths Err Ratio",
     {"share of the elements whose relative error is below 0.005; 1 is best",
      "相对误差小于千分之五的元素占比，越接近1越好"}},
    {"Cosine", {"cosine of the angle between both tensors; 1 is best", "两个张量夹角的余弦，越接近1越好"}},
    {"MaxAbsErr", {"largest absolute error of an element; 0 is best", "元素的最大绝对误差，越接近0越好"}},
    {"MaxRelativeErr", {"largest relative error of an element; 0 is best", "元素的最大相对误差，越接近0越好"}},
});

struct Colour {
  std::string_view code;
  std::string_view range;  // as the viewer reads it: "[0, 0.2]"
  std::string_view level;  // of .vis.db
};

constexpr std::string_view unmatched_colour = "#C7C7C7";

constexpr auto summary_colours = std::to_array<Colour>({{"#FFFCF3", "0, 0.2", ""},
                                                        {"#FFEDBE", "0.2, 0.4", ""},
                                                        {"#FFDC7F", "0.4, 0.6", ""},
                                                        {"#FFC62E", "0.6, 0.8", ""},
                                                        {"#FF704D", "0.8, 1", ""},
                                                        {unmatched_colour, "", ""}});
constexpr auto tensor_colours = std::to_array<Colour>({{"#FFFCF3", "0, 0.05", ""},
                                                       {"#FFEDBE", "0.05, 0.1", ""},
                                                       {"#FFDC7F", "0.1, 0.15", ""},
                                                       {"#FFC62E", "0.15, 0.2", ""},
                                                       {"#FF704D", "0.2, 1", ""},
                                                       {unmatched_colour, "", ""}});
constexpr auto md5_colours =
    std::to_array<Colour>({{"#FFFCF3", "1, 1", ""}, {"#FF704D", "0, 0", ""}, {unmatched_colour, "", ""}});
constexpr auto level_colours = std::to_array<Colour>({{"#FFFCF3", "0, 0.3", "pass"},
                                                      {"#FFDC7F", "0.3, 0.6", "warning"},
                                                      {"#FF704D", "0.6, 1", "error"},
                                                      {unmatched_colour, "", "unmatched node"}});

std::span<const Colour> colour_table(Dialect dialect, Mode mode) {
  if (dialect == Dialect::db) return level_colours;
  if (mode == Mode::md5) return md5_colours;
  if (mode == Mode::tensors) return tensor_colours;
  return summary_colours;
}

std::string_view meaning(Dialect dialect, Mode mode, const Colour& colour, Language language) {
  const bool english = language == Language::english;
  if (colour.range.empty()) {
    return english ? "the other graph has no node that matches this one" : "另一个图中没有与之匹配的节点";
  }
  if (dialect == Dialect::db) {
    return english ? "the worst verdict on the parameters of this node: the darker, the worse"
                   : "此节点各参数的最差结论，颜色越深越差";
  }
  if (mode == Mode::md5) {
    if (colour.range == "1, 1") return english ? "all checksums of this node agree" : "此节点所有校验和一致";
    return english ? "a checksum of this node differs" : "此节点存在不一致的校验和";
  }
  if (mode == Mode::tensors) {
    return english ? "how far the share of elements with a relative error below 0.001 falls from inputs to outputs"
                   : "相对误差小于千分之一的元素占比从输入到输出的下降";
  }
  return english ? "largest relative error of the statistics of the outputs of this node"
                 : "此节点输出统计量的最大相对误差";
}

}  // namespace

std::string tool_tips(Mode mode, Language language) {
  std::span<const Caption> tips = summary_tips;
  if (mode == Mode::md5) tips = md5_tips;
  if (mode == Mode::tensors) tips = tensor_tips;
  if (mode == Mode::structure) tips = {};
  std::string text = "{";
  for (const Caption& tip : tips) {
    if (text.size() > 1) text += ", ";
    append_json(text, tip.name);
    text += ": ";
    append_json(text, tip.texts[static_cast<std::size_t>(language)]);
  }
  return text + "}";
}

std::string colours(Dialect dialect, Mode mode, Language language, bool indented) {
  const JsonStyle style(indented);
  std::string text = "{";
  bool first = true;
  for (const Colour& colour : colour_table(dialect, mode)) {
    style.member(text, first, 2);
    first = false;
    append_json(text, colour.code);
    text += ": {";
    style.member(text, true, 3);
    text += "\"value\": [";
    if (!colour.range.empty()) {
      const std::size_t comma = colour.range.find(", ");
      style.member(text, true, 4);
      text += colour.range.substr(0, comma);
      style.member(text, false, 4);
      text += colour.range.substr(comma + 2);
      style.close(text, 3);
    }
    text += ']';
    style.member(text, false, 3);
    text += "\"description\": ";
    append_json(text, meaning(dialect, mode, colour, language));
    if (dialect == Dialect::db) {
      style.member(text, false, 3);
      text += "\"accuracy_level\": ";
      append_json(text, colour.level);
    }
    style.close(text, 2);
    text += '}';
  }
  style.close(text, 1);
  return text + "}";
}

}  // namespace msrun::graph
