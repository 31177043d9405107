// The records of journals that msrun wrote before records had a kind and a version: read, never written.
//
// A journal is continued whoever began it, so that one may hold these first and then records of today. They cannot be
// mistaken for each other: one of these begins with the number of a task, 32 bits, or with one of the two highest such
// numbers for a note, and no plan has as many tasks as the mark of today's records would be as a number
// (0xD2520000 and more).
//
// Integers and doubles are little-endian, a text is its length (32 bits) and its bytes.
//
//   result   task (32 bits), name (text), device (32 bits, signed), status of the forward (8 bits: pass, warning,
//            error, SKIP; the highest bit is set if rounding explains the call), status of the backward (8 bits, 0xFF:
//            none), message (text), rows of the forward, rows of the backward, nanoseconds of materialise, device,
//            benchmark and compare (64 bits each), checksum of the inputs (64 bits) and, of an overflow check, three
//            bytes: verdict, bench, device
//   rows     their number (32 bits); each: bench dtype, device dtype, shape, message (texts), status (8 bits, the
//            highest bit is set if rounding explains the row), 17 cells: kind (8 bits) and, unless it is blank, a
//            double
//   attempt  0xFFFFFFFF, event (8 bits: start, in flight, end), the tasks in flight (32 bits each)
//   time     0xFFFFFFFE, seconds since 1970 (double)
#pragma once

#include <string_view>

#include "runner/results/record.h"

namespace msrun {

// Throws RecordError for bytes that are none of these.
Record decode_legacy_record(std::string_view bytes);

}  // namespace msrun
