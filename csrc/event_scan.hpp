// The events of a profiler trace, from their JSON text straight into columns.
//
// The problem: making an object of each event costs more than reading its text, and most of what an
// event says (shapes, occupancy, stacks) no figure uses. So the text is read once, what is not
// needed is stepped over, and what is needed goes to arrays; text that occurs again and again
// (names, threads) is stored once and numbered.
//
// It accepts only what it understands exactly like the reader in Python that it speeds up: strict
// JSON, every field of the expected type, times of at most three decimals. Text with anything else
// is refused as a whole, for that reader to take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ftax {

// Complete events (phase "X") of one category, in their order. Times are nanoseconds, of times
// written as microseconds. Text is JSON as it was written.
struct EventTable {
    static constexpr std::int64_t kNone = -1;
    static constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

    std::string category;      // a JSON string
    std::int64_t events = 0;   // all, with those that have no time
    bool fractions = false;    // whether any time is no whole microsecond
    std::string names = "[]";  // a JSON list of strings, in order of appearance
    std::string rows = "[]";   // a JSON list of [process, thread], in order of appearance
    // The columns: as long as there are events with a time.
    std::vector<std::int64_t> start_ns;
    std::vector<std::int64_t> duration_ns;
    std::vector<std::int32_t> name;         // index into `names`
    std::vector<std::int32_t> row;          // index into `rows`
    std::vector<std::int64_t> correlation;  // kNone where absent or 0, which means no id
    std::vector<std::int64_t> external;     // likewise
    std::vector<std::int64_t> device;       // kAbsent where absent
    std::vector<std::int64_t> stream;       // likewise
};

// Events of all other phases, counted.
struct OtherEvents {
    std::string phase;     // a JSON string
    std::string category;  // a JSON string
    std::int64_t events = 0;
};

struct EventBatch {
    std::int64_t events = 0;
    std::vector<EventTable> tables;  // in order of appearance
    std::vector<OtherEvents> others;
};

// The events in `text`, with commas between them; nothing where it is not the plain text that this
// reader is for.
std::optional<EventBatch> scan_events(std::string_view text);

}  // namespace ftax
