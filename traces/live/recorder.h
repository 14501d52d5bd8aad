// Recorder: a thread in the program that empties the rings, sorts their records and appends them to
// the recording. A ring's slots are freed only when their records are in the file, so nothing is
// lost if the program is killed at any moment: each record is in the file or still in the rings.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/threads.h"
#include "traces/live/live_set.h"
#include "traces/live/merge.h"
#include "traces/live/ring_leases.h"
#include "traces/live/segment_files.h"

namespace tidemark::live {

class Recorder {
  public:
    // `file` and `leases` must outlive it.
    Recorder(SharedFile& file, RingLeases& leases, const Header& header, Bytes history_limit);
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    // Makes the recording's first file. Errors: io.
    Result<void> open();

    // Starts the thread, which then owns everything here until stop(). Errors (io): the system has
    // no thread.
    Result<void> start();

    // Ends the thread, and records what is left; nobody may publish any longer. Errors: io.
    Result<void> stop();

    // Empties the rings once; for programs that have no thread for it, and for tests. Returns
    // whether it found anything. Errors: io; what was found is then counted as lost.
    Result<bool> drain();

    // Closes the file, in a child made by fork().
    void leave() { segments_.leave(); }

  private:
    void run();
    Result<bool> drain_within(bool last);
    void lose_records();
    Result<void> finish();
    std::size_t look();
    Result<void> write(std::uint64_t first, bool last = false);
    Result<void> begin_segment(std::uint64_t first);
    Result<void> append(std::uint64_t first, bool last);
    void give_up(std::span<const Record> slots);
    void report_failure(const Error& error);
    std::uint64_t losses() const;
    void give_back();
    void wait_at_gap();
    void publish_counters();

    SharedFile& file_;
    RingLeases& leases_;
    const Header header_;
    const bool keeps_live_set_;
    SegmentFiles segments_;
    Merger merger_;
    LiveSet live_;
    ClockPair last_clock_;
    unsigned clock_turn_ = 0;
    std::vector<RingSpan> spans_;
    std::vector<Record> records_;     // of the current chunk
    std::vector<Record> owed_names_;  // of chunks that could not be written
    std::uint64_t unwritten_ = 0;     // events in those
    std::optional<Error>
        no_segment_;  // why the next file could not be started, and when to try again
    Nanoseconds next_try_ = 0;
    bool reported_failure_ = false;
    std::uint64_t reported_ = 0;  // of losses(), by records in the recording
    std::uint64_t gap_ = 0;       // the last number that was waited for, and since when
    Nanoseconds gap_since_ = -1;

    std::mutex mutex_;  // guards stopping_
    std::condition_variable wake_;
    bool stopping_ = false;
    Result<void> finished_;  // of the thread
    Thread thread_;
};

}  // namespace tidemark::live
