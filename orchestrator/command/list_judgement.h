// `msrun --list-judgement`: the rules by which a difference is explained and the vetoes against them, in the order in
// which they are asked, from the tables that the judge itself uses (runner/judge/rules.h, vetoes.h).
#pragma once

#include <string>

namespace msrun {

// For a reader.
std::string list_judgement_text();

// {"rules": [{"name", "stage", "cost", "reason"}], "vetoes": [{"name", "reason"}]}
std::string list_judgement_json();

}  // namespace msrun
