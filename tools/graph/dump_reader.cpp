#include "tools/graph/dump_reader.h"

#include <algorithm>
#include <optional>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "tools/recordings/python_text.h"

namespace msrun::graph {
namespace {

constexpr int most_levels = 10;

constexpr std::array<std::string_view, role_count> role_keys{
    "",          "type",  "dtype",       "shape",    "Max",        "Min", "Mean", "Norm", "requires_grad", "md5",
    "data_name", "value", "group_ranks", "group_id", "class_type", "op",  "peer", "tag",  "full_op_name",  "state"};

constexpr std::string_view key_of(Role role) { return role_keys[static_cast<std::size_t>(role)]; }

}  // namespace

EntryReader::EntryReader(Side& side, std::string file) : side_(side), file_(std::move(file)) {
  if (!side_.forms.empty()) return;
  Form null;
  null.null = true;
  null.field_of.fill(-1);
  side_.forms.push_back(null);
}

void EntryReader::read(std::string_view name, const JsonNode& node) {
  call_ = name;
  first_ = side_.parameters.size();
  walk_groups(node);
  merge_namesakes();
}

void EntryReader::walk_groups(const JsonNode& node) {
  if (call_.find(".parameters_grad") != std::string_view::npos) {
    suffix_.clear();
    return walk(node, Group::parameters_grad, 0);
  }
  under(node, "input_args", ".input", Group::inputs);
  under(node, "input_kwargs", ".input", Group::inputs);
  under(node, "input", ".input", Group::inputs);
  under(node, "output", ".output", Group::outputs);
  under(node, "parameters", ".parameters", Group::parameters);
}

// Files hold parameters by name: of several with one name the last counts, in the place of the first, as in a
// dictionary of Python.
void EntryReader::merge_namesakes() {
  const auto begin = side_.parameters.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto name_of = [&](const Parameter& parameter) {
    return std::pair(side_.text(parameter.name), parameter.whole);
  };
  names_.clear();
  for (auto at = begin; at != side_.parameters.end(); ++at) names_.push_back(name_of(*at));
  std::ranges::sort(names_);
  if (std::ranges::adjacent_find(names_) == names_.end()) return;
  std::map<std::pair<std::string_view, bool>, std::ptrdiff_t> places;
  auto end = begin;
  for (auto at = begin; at != side_.parameters.end(); ++at) {
    const auto [place, is_new] = places.emplace(name_of(*at), end - begin);
    if (is_new) {
      *end++ = *at;
    } else {
      begin[place->second] = *at;
    }
  }
  side_.parameters.erase(end, side_.parameters.end());
}

void EntryReader::under(const JsonNode& node, std::string_view key, std::string_view part, Group group) {
  const std::optional<JsonNode> child = find_member(node, key);
  if (!child || child->is_null()) return;
  suffix_ = part;
  walk(*child, group, 0);
}

void EntryReader::walk(const JsonNode& node, Group group, int depth) {
  if (depth > most_levels) {
    throw UserError(file_ + ": the arguments of " + sanitised(bounded(std::string(call_))) +
                    " are nested deeper than 10 levels");
  }
  if (node.is_null()) return add_null(group);
  if (node.is_object()) {
    const std::optional<JsonNode> kind = find_member(node, "class_type");
    if (kind && kind->is_string() && kind->text() == "torch.distributed.P2POp") {
      if (const std::optional<JsonNode> tensor = find_member(node, "tensor"); tensor && tensor->is_object()) {
        add_leaf(*tensor, group, &node);
      }
      return;
    }
    if (const std::optional<JsonNode> type = find_member(node, "type"); type && type->is_string()) {
      return add_leaf(node, group, nullptr);
    }
  } else if (!node.is_array()) {
    return;
  }
  const std::size_t length = suffix_.size();
  std::size_t index = 0;
  for (const JsonNode child : node) {
    if (node.is_object()) {
      suffix_ += '.';
      suffix_ += child.key();
    } else if (group != Group::parameters_grad) {
      suffix_ += '.';
      suffix_ += std::to_string(index++);
    }
    walk(child, group, depth + 1);
    suffix_.resize(length);
  }
}

Role EntryReader::role_of(TextId key) {
  const auto [place, is_new] = roles_.emplace(key, Role::other);
  if (is_new) {
    const auto found = std::ranges::find(role_keys, side_.text(key));
    if (found != role_keys.end()) place->second = static_cast<Role>(found - role_keys.begin());
  }
  return place->second;
}

void EntryReader::take_fields(const JsonNode& node, bool of_operation) {
  for (const JsonNode field : node) {
    if (of_operation && field.key() == "tensor") continue;
    const TextId key = side_.texts.shared(field.key());
    const Value value = recordings::value_of(field, side_.texts);
    const auto known = std::ranges::find(keys_, key);
    if (known != keys_.end()) {
      recorded_[static_cast<std::size_t>(known - keys_.begin())] = value;
    } else {
      keys_.push_back(key);
      recorded_.push_back(value);
    }
  }
}

void EntryReader::name_parameter(Parameter& parameter, std::string_view data_name) {
  std::string_view own = suffix_;
  if (!data_name.empty() && data_name != "-1") {
    const std::size_t dot = data_name.rfind('.');
    const std::string_view stem = data_name.substr(0, dot == 0 ? data_name.size() : dot);
    parameter.whole = !stem.starts_with(call_);
    own = parameter.whole ? stem : stem.substr(call_.size());
  }
  parameter.name = parameter.whole ? side_.texts.own(own) : side_.texts.shared(own);
  // The part of the call that holds it, whatever words its name is made of: a layer may be called input or output.
  parameter.output = parameter.group == Group::outputs;
}

void EntryReader::add_null(Group group) {
  Parameter parameter;
  parameter.group = group;
  name_parameter(parameter, {});
  side_.parameters.push_back(parameter);
}

void EntryReader::add_leaf(const JsonNode& node, Group group, const JsonNode* more) {
  keys_.clear();
  recorded_.clear();
  take_fields(node, false);
  if (more != nullptr) take_fields(*more, true);
  const std::optional<JsonNode> type = find_member(node, "type");
  const std::string_view kind = type && type->is_string() ? type->text() : std::string_view();
  const std::optional<JsonNode> dtype = find_member(node, "dtype");
  const std::optional<JsonNode> value = find_member(node, "value");
  const bool described = dtype && !dtype->is_null() && !(dtype->is_string() && dtype->text().empty());
  Missing missing = Missing::nothing;
  if (!described) {
    missing = kind == "torch.Size" ? Missing::size
              : kind == "slice"    ? Missing::slice
              : kind == "ellipsis" ? Missing::ellipsis
                                   : Missing::scalar;
  }
  const std::string_view segment = std::string_view(suffix_).substr(suffix_.rfind('.') + 1);
  const bool named_rank =
      missing == Missing::scalar && (kind == "torch.ProcessGroup" || segment == "src" || segment == "dst" ||
                                     segment == "group_src" || segment == "group_dst");
  Parameter parameter;
  parameter.group = group;
  const std::optional<JsonNode> data_name = find_member(node, "data_name");
  name_parameter(parameter, data_name && data_name->is_string() ? data_name->text() : std::string_view());
  parameter.form = form_of(missing, recordings::python_class(value), named_rank);
  parameter.values = static_cast<std::uint32_t>(side_.values.size());
  if (missing != Missing::nothing) {  // the two that follow what was recorded: make_form counts on them
    const std::string text = value ? recordings::python_text(*value) : std::string();
    std::string shape = "[]";
    if (missing == Missing::size) shape = text;
    if (missing == Missing::slice) {
      shape = value && value->is_array() ? "(" + std::to_string(value->count()) + ",)" : "()";
    }
    recorded_.push_back(text_value(side_.texts.shared(shape)));
    recorded_.push_back(text_value(side_.texts.shared(recordings::text_checksum(text))));
  }
  side_.values.insert(side_.values.end(), recorded_.begin(), recorded_.end());
  side_.parameters.push_back(parameter);
}

std::uint32_t EntryReader::form_of(Missing missing, std::string_view python_class, bool named_rank) {
  signature_ = keys_;
  signature_.push_back(static_cast<TextId>(missing) * 2 + (named_rank ? 1 : 0));
  const bool scalar = missing == Missing::scalar || missing == Missing::ellipsis;
  signature_.push_back(scalar ? side_.texts.shared(python_class) : 0);
  // An empty data_name is shown as one that is missing, in its own place.
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (role_of(keys_[i]) != Role::data_name) continue;
    const bool empty = recorded_[i].kind != Kind::text || side_.text(recorded_[i].text).empty();
    signature_.push_back(empty ? 1 : 0);
  }
  const auto known = forms_.find(signature_);
  if (known != forms_.end()) return known->second;
  side_.forms.push_back(make_form(missing, python_class, named_rank));
  const auto id = static_cast<std::uint32_t>(side_.forms.size() - 1);
  forms_.emplace(signature_, id);
  return id;
}

Form EntryReader::make_form(Missing missing, std::string_view python_class, bool named_rank) {
  Form form;
  form.field_of.fill(-1);
  form.named_rank = named_rank;
  form.ellipsis = missing == Missing::ellipsis;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    FormField field;
    field.key = keys_[i];
    field.role = role_of(field.key);
    field.place = static_cast<std::int32_t>(i);
    if (field.role != Role::other) {
      form.field_of[static_cast<std::size_t>(field.role)] = static_cast<std::int8_t>(std::min<std::size_t>(i, 127));
    }
    form.fields.push_back(field);
  }
  if (form.fields.size() > 100)
    throw UserError(file_ + ": a parameter of " + std::string(call_) + " has over 100 fields");
  const auto field_of = [&](Role role) -> FormField& {
    std::int8_t& place = form.field_of[static_cast<std::size_t>(role)];
    if (place < 0) {
      place = static_cast<std::int8_t>(form.fields.size());
      form.fields.push_back({side_.texts.shared(key_of(role)), role, -1, {}});
    }
    return form.fields[static_cast<std::size_t>(place)];
  };
  const auto constant = [&](Role role, std::string_view text) {
    FormField& field = field_of(role);
    field.place = -1;
    field.constant = text_value(side_.texts.shared(text));
  };
  const int data_name = form.field_of[static_cast<std::size_t>(Role::data_name)];
  if (data_name < 0 || signature_.back() == 1) constant(Role::data_name, "-1");
  field_of(Role::requires_grad);
  const int value = form.field_of[static_cast<std::size_t>(Role::value)];
  for (const Role statistic : {Role::max, Role::min, Role::mean, Role::norm}) {
    FormField& field = field_of(statistic);
    const bool copied = missing == Missing::scalar || missing == Missing::ellipsis;
    if (copied) field.place = value;  // -1 where it has no_index: null
  }
  if (missing == Missing::nothing) {
    if (form.field_of[static_cast<std::size_t>(Role::shape)] < 0) field_of(Role::shape);
    if (form.field_of[static_cast<std::size_t>(Role::md5)] < 0) constant(Role::md5, "00000000");
    return form;
  }
  const auto recorded = static_cast<std::int32_t>(keys_.size());
  constant(Role::dtype, missing == Missing::size ? "torch.Size" : missing == Missing::slice ? "slice" : python_class);
  field_of(Role::shape).place = recorded;
  if (form.field_of[static_cast<std::size_t>(Role::md5)] < 0) field_of(Role::md5).place = recorded + 1;
  return form;
}

}  // namespace msrun::graph
