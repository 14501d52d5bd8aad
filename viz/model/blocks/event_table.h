// EventTable: all events of a run as rows, or those about blocks that a filter lets through.
// Without a filter a row is an event and costs nothing; with one, the rows are a bit for each
// event, found in the background, and the first of them show while the rest is looked for.
//
// The screen's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "replay/timeline/history.h"
#include "viz/model/blocks/ranked_bits.h"
#include "viz/model/blocks/site_names.h"
#include "viz/model/session/job.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

class EventTable {
  public:
    // What to show from now on. Each frame; O(1) where nothing has changed.
    void ask(const std::shared_ptr<const History>& history, const Filter& filter);

    std::uint64_t rows() const;

    // The event of a row < rows(). O(log events).
    EventIndex event(std::uint64_t row) const;

    // The first row at `event` or later; rows() if there is none yet.
    std::uint64_t row_from(EventIndex event) const;

    bool filtered() const { return bits_ != nullptr; }

    // Rows are still being searched for; and what share of the events has been searched.
    bool running() const { return job_.running(); }

    double share() const { return bits_ == nullptr ? 1 : bits_->share(); }

    // Which events are rows; null: all of them.
    std::shared_ptr<const RankedBits> bits() const { return bits_; }

    // Waits for the rows: for stills.
    void finish() { job_.wait(); }

  private:
    std::shared_ptr<const History> history_;
    Filter filter_;
    std::shared_ptr<RankedBits> bits_;
    Job<bool> job_;
};

// One row as text.
struct EventRow {
    std::string index;
    std::string time;
    std::string kind;
    std::string address;
    std::string size;
    std::string stream;
    std::string tag;
    std::string call_site;
};

EventRow event_row(const History& history, EventIndex event, SiteNames& names);

// What happened to a block at one of its events: "allocate", "free", "finish", ...; of events about
// no block, what they are.
std::string_view event_kind_text(EventKind kind);

// "1.234 567 890 s": all digits, so that neighbours differ. O(1).
std::string exact_time(Nanoseconds time);

}  // namespace tidemark::viz
