// RankTable: what each rank reserves at its peak, how far that is from the median's, and where it
// was out of memory; and which rank needs most, in a sentence. Kept from frame to frame: only new
// events are looked at. The screen's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "viz/model/ranks/rank_names.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

struct RankFigures {
    std::size_t run = 0;  // of the session
    std::string number;
    bool is_known = false;           // it has a history with events
    EventIndex peak_event = 0;       // where most of the peak is in use: fullest_event
    SeriesValues peak;               // there
    std::int64_t over_median = 0;    // of the peak of reserved memory
    std::uint64_t refusals = 0;      // events at which a request was out of memory
    EventIndex refused_at = kNever;  // the first of them
};

class RankTable {
  public:
    // The ranks that the shown run belongs to; true if there are some. O(ranks), and what is new.
    bool look(const Session& session, const Selection& selection);

    // By rising number.
    const std::vector<RankFigures>& rows() const { return rows_; }

    // The rank with the median of the known peaks, the lower one of an even number; and the one
    // that reserves most, the first of equals. None: nothing is known yet.
    std::optional<std::size_t> median() const { return median_; }

    std::optional<std::size_t> largest() const { return largest_; }

    Bytes largest_peak() const;
    Bytes median_peak() const;

    // The largest of the ranks' devices; 0 = unknown.
    Bytes capacity() const { return capacity_; }

    std::size_t known() const { return known_; }

    // Which rank needs most and where it exceeds the others, what failed and what is still loading.
    const std::string& headline() const { return headline_; }

  private:
    // What was seen of a rank's history.
    struct Seen {
        std::shared_ptr<const History> history;
        std::size_t events = 0;
        std::size_t marks = 0;
        LoadState::Phase phase = LoadState::Phase::waiting;
    };

    bool find(const Session& session, const Selection& selection);
    bool take_in(const ViewedRun& run, RankFigures& row, Seen& seen) const;
    void conclude(const Session& session);

    std::vector<RankFigures> rows_;
    std::vector<Seen> seen_;  // of each row
    std::string path_;        // for which they were found, among this many runs
    std::string policy_;
    std::size_t runs_ = 0;
    std::optional<std::size_t> median_;
    std::optional<std::size_t> largest_;
    Bytes capacity_ = 0;
    std::size_t known_ = 0;
    std::string headline_;
};

// Ranks differ if their reserved memory differs by more than this: 2 % of the median's peak, and at
// least what PyTorch reserves from a device at once.
Bytes rank_threshold(Bytes median_peak);

}  // namespace tidemark::viz
