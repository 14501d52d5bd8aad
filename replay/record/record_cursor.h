// RecordCursor: where a replay is in the record of a device.
//
// Completions of frees and entries about segments come before the request that they belong to: they
// are pending until the replay knows how they came about, at that request or the next free.
#pragma once

#include <cstddef>
#include <vector>

#include "replay/record/device_record.h"

namespace tidemark {

class RecordCursor {
  public:
    // `record` must outlive it.
    explicit RecordCursor(const DeviceRecord& record) : record_(&record) {}

    const DeviceRecord& record() const { return *record_; }

    std::size_t position() const { return position_; }

    bool at_end() const { return position_ == record_->steps.size(); }

    const TraceEvent& event() const { return event(position_); }

    const TraceEvent& event(std::size_t step) const { return record_->steps[step].event; }

    const RecordedStep& step(std::size_t step) const { return record_->steps[step]; }

    // Pending, as steps in order.
    const std::vector<std::size_t>& completions() const { return completions_; }

    const std::vector<std::size_t>& segments() const { return segments_; }

    // Does one of segments() release memory?
    bool releases() const { return releases_; }

    // The entry at position() is pending from now on.
    void add_completion() { completions_.push_back(position_); }

    void add_segment() {
        segments_.push_back(position_);
        releases_ = releases_ || is_release(event().kind);
    }

    void clear_pending() {
        completions_.clear();
        segments_.clear();
        releases_ = false;
    }

    void advance() { ++position_; }

  private:
    const DeviceRecord* record_;
    std::size_t position_ = 0;
    std::vector<std::size_t> completions_;
    std::vector<std::size_t> segments_;
    bool releases_ = false;
};

}  // namespace tidemark
