// What programs do about standard input, output and error as a whole.
#pragma once

#include <string_view>

namespace msrun {

// Prints all of text to standard output, waiting for the reader. Throws UserError if it cannot be written; a reader
// that has gone away has read enough.
void print_text(std::string_view text);

// Ends what was printed to std::cout, as print_text() does: throws UserError if it could not be written, but for a
// reader that has gone away, and where the program was started without standard output, which changes no exit code.
void finish_standard_output();

// One line on standard error, without its line feed. It is lost if it cannot be written at once: for processes that
// have more important things to do than to wait for a reader.
void write_error_line(std::string_view line);

// Makes whatever this process prints from now on, its libraries included, stop waiting for the reader: what a full pipe
// or a stopped terminal does not take is lost. Other processes with the same standard output and error do not notice.
void unblock_standard_output();

// Opens those of the three standard descriptors that this process was started without, so that no file of its own gets
// their number and what is printed ends in none. Nothing can be written to them.
void occupy_standard_descriptors();

}  // namespace msrun
