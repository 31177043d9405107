#include "tools/torchair_convert/shortage.h"

namespace msrun::convert {

void Shortage::next_round() {
  if (++round_ == 0) round_ = 1;
}

void Shortage::success(double now) {
  last_success_ = now;
  felt_ = false;
  one_by_one_ = false;
  next_round();
}

void Shortage::feel(Resource resource, const std::string& message) {
  felt_ = true;
  resource_ = resource;
  message_ = message;
}

void Shortage::judge(bool whole_round, double now, double patience) {
  if (!felt_) return;
  if (resource_ == Resource::descriptors) {
    given_up_ = now - last_success_ > patience;
  } else if (whole_round && one_by_one_) {
    given_up_ = true;
  }
  if (whole_round && !given_up_) {
    one_by_one_ = true;
    next_round();
  }
}

std::string Shortage::advice() const {
  if (resource_ == Resource::space) {
    return "The disk is full. Nothing is lost: free some space and give the same command again.";
  }
  return "No more files can be opened. Nothing is lost: allow more open files (ulimit -n) or end other programs, and "
         "give the same command again.";
}

}  // namespace msrun::convert
