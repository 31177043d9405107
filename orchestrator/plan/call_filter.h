// Which calls of a recording a run is about: the glob patterns of --only and --except, and what a pattern that meets no
// call may have meant. Where several ranks are checked, a pattern may begin with that of a rank and a colon.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/api/rank_pattern.h"

namespace msrun {

// Whether a glob pattern (fnmatch(3)) means the call of that name, "Torch.matmul.0". A pattern may end in ".forward" or
// ".backward", as the entries of dump.json do; both mean the call, which is always checked as a whole.
bool matches_call(const std::string& pattern, const std::string& name);

// The APIs of a recording, "Torch.matmul", with what is needed to say which of them a mistyped pattern is near to.
class CallNames {
 public:
  // Every call, in the order of the recording. More than a hundred thousand APIs are not remembered.
  void see(const std::string& name);

  // Also those that another recording has.
  void see(const CallNames& other);

  // Patterns that meet calls and look like this one, which meets none: "; the nearest in the recording:
  // 'Torch.matmul.*' (4 calls)". Without near ones it names APIs of the recording; empty if there is no call at all.
  std::string hint(const std::string& pattern) const;
  // What patterns are, with a name of the recording as the example; one sentence.
  std::string explanation() const;

 private:
  struct Api {
    std::string name;        // "Torch.matmul"
    std::string first_call;  // "Torch.matmul.0"
    std::size_t calls = 0;
  };

  std::string shown(const std::vector<const Api*>& apis) const;
  // At most three, the nearest first.
  std::vector<const Api*> nearest(const std::string& pattern) const;

  std::vector<Api> apis_;
  std::unordered_map<std::string, std::size_t> places_;
};

class CallFilter {
 public:
  // Without patterns in only, every call is wanted that no pattern in except means.
  CallFilter(const std::vector<std::string>& only, const std::vector<std::string>& except)
      : only_{"--only", only, std::vector<bool>(only.size()), {}, {}, {}},
        except_{"--except", except, std::vector<bool>(except.size()), {}, {}, {}} {
    only_.sort_places();
    except_.sort_places();
  }
  // That of one of several ranks. Patterns for others say nothing.
  CallFilter(const std::vector<std::string>& only, const std::vector<std::string>& except, const std::string& rank);

  // To be called for every call of the recording.
  bool is_wanted(const std::string& name);
  // Whether a call of the rank may be wanted: false where --except names all of them, or --only those of other ranks.
  bool may_want_any() const;
  // Takes over what the filter of a rank has seen, so that the sentences below are about all of them. Ranks whose
  // recording was not read for may_want_any() are absorbed as well.
  void absorb(const CallFilter& of_rank);

  // A sentence for each pattern that meant no call.
  std::vector<std::string> warnings() const;
  // Why no call is wanted, where that is so: one line that says what the patterns may have meant.
  std::string refusal() const;

 private:
  struct Patterns {
    const char* option;
    std::vector<std::string> patterns;
    std::vector<bool> met;
    // What each pattern says about the calls of the rank; empty for a pattern of other ranks.
    std::vector<std::string> of_rank;
    // Of the patterns without wildcards their places by the names that they mean, and the places of the others: lists
    // of thousands of calls are looked up, not compared one by one.
    std::unordered_map<std::string, std::vector<std::size_t>> places;
    std::vector<std::size_t> wild;

    const std::vector<std::string>& current() const { return of_rank.empty() ? patterns : of_rank; }
    void keep_those_of(const std::string& rank);
    void sort_places();
    bool match(const std::string& name);
    bool any_unmet() const;
  };

  void add_unmet(const Patterns& patterns, std::vector<std::string>& sentences) const;

  Patterns only_;
  Patterns except_;
  CallNames names_;
  std::string rank_;
  std::vector<std::string> ranks_;  // that were absorbed
};

}  // namespace msrun
