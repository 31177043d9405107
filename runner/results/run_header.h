// What the header of a run's journal tells, for all who read journals: the run that goes on, msrun journal, merge, the
// report and the tools. orchestrator/session/run_identity.h writes it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/file.h"

namespace msrun {

using RunHeader = nlohmann::ordered_json;

// The header of a journal by its text; nothing if it is not that of a run of msrun.
std::optional<RunHeader> parse_run_header(const std::string& text);
// As above, of the journal. Throws journal::Error where that cannot be read.
std::optional<RunHeader> read_run_header(const journal::Source& source);

// One option of the command line with its values, as words of it: {"-d", "0", "1"}.
using OptionWords = std::vector<std::string>;

// The words of the option behind those of a command line. A value that begins with a dash is tied to its flag, so that
// it is not read as a flag itself.
void append_words(const OptionWords& option, std::vector<std::string>& line);

// The options that the run was begun with; nothing where the header does not hold them, as of earlier versions. What is
// no list of words is left out.
std::optional<std::vector<OptionWords>> options_in(const RunHeader& header);

// More than any plan has; what claims more is damaged or forged.
inline constexpr std::uint64_t max_calls = std::uint64_t{1} << 26;

// In the fingerprint: the APIs whose integer outputs may differ by one. Earlier versions did not note them.
inline constexpr const char* quantization_key = "quantization_apis";

// The text of that key; empty if the object has none.
std::string text_in(const RunHeader& object, const char* key);

// How many calls are planned; nothing if the header does not say so, or claims more than max_calls.
std::optional<std::uint64_t> planned_calls(const RunHeader& header);

// Results behind those of the plan, of a run that was begun from CSVs; likewise.
std::optional<std::uint64_t> kept_results(const RunHeader& header);

// The part of the planned calls that a run checks where several processes share them.
struct PartOfRun {
  std::string name;                    // "part 2/8", "what one process took of the leases"; empty: all of them
  std::optional<std::uint64_t> calls;  // how many these are; nothing where that shows at the end alone, or is not said
};
PartOfRun part_of_run(const RunHeader& header);

// When the first of what the journal holds was begun, in seconds since 1970: of what was merged the first part. Nothing
// if the header does not say so.
std::optional<double> started_at(const RunHeader& header);

// When the run was begun: what was merged of parts when the last of them was. Nothing if the
// header does not say so.
std::optional<double> begun_at(const RunHeader& header);

// Whether the value of this option of msrun is the path of something that the run reads.
bool is_input_path(std::string_view option);

// The recordings and configuration that a run has read, as far as its header names them, where they are now.
std::vector<std::string> files_read(const RunHeader& header);

// Where what a run has read is now. A relative path is that of the folder in which the run was begun; where nothing is
// there, or the folder is not known, it is left to the folder of whoever asks.
std::string found_again(const std::string& path, const RunHeader& header);

}  // namespace msrun
