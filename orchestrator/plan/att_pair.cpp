#include "orchestrator/plan/att_pair.h"

#include "kernels/api/api_call.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {

void AttPair::File::see(std::string_view base, bool well_formed) {
  if (entries++ == 0) first = bounded(sanitised(base));
  any_well_formed = any_well_formed || well_formed;
}

void AttPair::File::check(const char* problem) const {
  if (entries > 0 && !any_well_formed) throw UserError(path + ": entry '" + first + "' " + problem + ".");
}

void AttPair::see(std::string_view entry, const DumpEntry& content) {
  std::string_view base;
  if (split_direction(entry, base) == Direction::forward) {
    forward_.see(base, content.has_args || content.has_kwargs);
    names_.emplace(base);
  } else {
    backward_.see(base, content.has_grad_inputs);
    if (names_.contains(std::string(base))) return;
    ++unpaired_;
    if (first_unpaired_.empty()) first_unpaired_ = bounded(sanitised(base));
  }
}

void AttPair::check() const {
  forward_.check("is no object with args and kwargs, so this is no forward_info file");
  backward_.check("is no list of gradients, so this is no backward_info file");
  if (unpaired_ > 0 && unpaired_ == backward_.entries) {
    throw UserError(backward_.path + ": entry '" + first_unpaired_ + "' and all others have no forward entry in " +
                    forward_.path + "; the two files are not of one recording.");
  }
}

}  // namespace msrun
