// Finding: one thing about a run that a person should know: of which kind, how urgent, where, and
// its figures. Findings are built once (find.h) and only then put into text, a page, JSON or the
// viewer's list: only this folder decides what is a warning.
//
// Plain values. Strings may hold any bytes of a trace: code that shows them makes them printable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "replay/analysis/advise/peak.h"
#include "replay/timeline/history.h"

namespace tidemark::findings {

// In the order in which findings of one severity are shown.
enum class Kind : std::uint8_t {
    no_history,         // the recording is the state at one moment
    out_of_memory,      // a request failed
    does_not_fit,       // no setting survives: too much is live at once
    leak,               // live memory at the ends of steps keeps growing
    drift,              // reserved memory grows from step to step though live memory doesn't
    beyond_memory,      // more is allocated than the devices have: the recording is wrong
    fragmentation,      // free at the peak, in segments of which a part is in use
    setting,            // other allocator settings that need less, or survive
    near_limit,         // almost all of the memory is reserved
    retries,            // caches were emptied to make room
    growth_while_free,  // reserved memory grew to its peak while enough was free
    waiting,            // pending free: freed, but the device isn't done
    other_streams,      // free, but kept for requests of other streams
    cached,             // free at the peak, in whole segments
    pinned,             // free, but pinned by long-lived blocks
    rounding,           // what blocks have beyond what was requested
    lost_events,        // missing from the recording
    cache_growth,       // grew during the first steps, then stayed
    idle,               // free for a large part of the run
    in_use,             // what the peak is made of
    pools,              // of which pools
    holders,            // who holds it
    remark,             // a sentence of the analysis or the reader
};

enum class Severity : std::uint8_t { note, warning, problem };

// The names in JSON: "out_of_memory", "warning". Stable.
std::string_view to_text(Kind kind);
std::string_view to_text(Severity severity);

// A number with its name as in JSON: "_bytes" and "_ns" say the unit, others are counts.
struct Figure {
    std::string_view name;
    std::uint64_t value = 0;
};

// One line of a breakdown: what `role` ("place", "stream", "pool", "blocker", "remedy") with that
// name has to do with it. A remedy's name is its kind (replay/analysis/advise/out_of_memory.h).
struct Part {
    std::string_view role;
    std::string name;
    Bytes bytes = 0;
    std::uint64_t count = 0;  // of blocks; of what is out of memory in all with a remedy
    std::string note = {};    // what else is known: "record_stream"; a remedy's settings or place
    bool helps = false;       // a remedy: a replay with it grants the request
    bool certain = true;      // of a remedy: Remedy::certain
};

struct Finding {
    Kind kind = Kind::remark;
    Severity severity = Severity::note;
    std::string run = {};      // the run's label, where there are several
    std::string site = {};     // of the program, or what represents it; "" = none
    std::string range = {};    // of the program's ranges: "in step (3 of 8)"
    std::string setting = {};  // as its user calls it (Tried::name)
    std::string command = {};  // what to write to have it, in a shell or the program
    std::string message = {};  // of a remark: the sentence
    std::uint64_t event = kNotInTrace;
    Nanoseconds time = -1;        // of that event as recorded; -1 = without times
    BlockIndex block = kNoBlock;  // of the run's history
    std::uint32_t stack = 0;      // an example of the place
    std::vector<Figure> figures = {};
    std::vector<Part> parts = {};

    // The figure of that name; 0 if there is none. O(figures).
    std::uint64_t figure(std::string_view name) const;
};

// Of a share of reserved memory that is wasted: a problem from a fifth, a warning from a twentieth.
Severity severity_of_waste(Bytes wasted, Bytes reserved);

// Most urgent first: by severity, then kind; equals as they are.
void put_in_order(std::vector<Finding>& findings);

}  // namespace tidemark::findings
