// RecordCursor: where a replay is in the record of a device.
//
// Completions of frees and entries about segments come before the request that they belong to: they
// are pending until the replay knows how they came about, at that request or the next free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/wrap/scripted.h"
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

    // Pending, as steps in order.
    const std::vector<std::size_t>& completions() const { return completions_; }

    const std::vector<std::size_t>& segments() const { return segments_; }

    // Does one of segments() give memory back?
    bool releases() const { return releases_; }

    // Does one of completions() end what lives in `slot`? O(completions).
    bool completes(std::uint32_t slot) const;

    // The device calls that segments() record. O(segments).
    std::vector<ScriptedDevice::Call> calls() const;

    // The entry at position() is pending from now on.
    void add_completion() { completions_.push_back(position_); }

    void add_segment();

    void clear_pending();

    void advance() { ++position_; }

    // The step, at most the last one.
    const RecordedStep& step_near(std::size_t step) const;

  private:
    const DeviceRecord* record_;
    std::size_t position_ = 0;
    std::vector<std::size_t> completions_;
    std::vector<std::size_t> segments_;
    bool releases_ = false;
};

}  // namespace tidemark
