// Rewriting the batches that hold refusals; all others pass as they are.
#include "replay/analysis/advise_refused.h"

#include <algorithm>
#include <vector>

namespace tidemark {
namespace {

// Events as columns that own their memory.
class Columns {
  public:
    void clear() {
        kind_.clear(), slot_.clear(), time_.clear(), size_.clear(), address_.clear();
        stream_.clear(), stack_.clear(), aux_.clear(), tag_.clear(), device_.clear();
        flags_.clear();
    }

    void add(const TraceEvent& event) {
        kind_.push_back(event.kind);
        slot_.push_back(event.slot);
        time_.push_back(event.time);
        size_.push_back(event.size);
        address_.push_back(event.address);
        stream_.push_back(event.stream);
        stack_.push_back(event.stack);
        aux_.push_back(event.aux);
        tag_.push_back(event.tag);
        device_.push_back(event.device);
        flags_.push_back(event.flags);
    }

    EventBatch batch() const {
        return {kind_.size(), kind_.data(),    slot_.data(),   time_.data(),
                size_.data(), address_.data(), stream_.data(), stack_.data(),
                aux_.data(),  tag_.data(),     device_.data(), flags_.data()};
    }

  private:
    std::vector<EventKind> kind_;
    std::vector<std::uint32_t> slot_;
    std::vector<Nanoseconds> time_;
    std::vector<Bytes> size_;
    std::vector<std::uint64_t> address_;
    std::vector<StreamId> stream_;
    std::vector<std::uint32_t> stack_;
    std::vector<std::uint32_t> aux_;
    std::vector<std::uint32_t> tag_;
    std::vector<std::uint16_t> device_;
    std::vector<std::uint8_t> flags_;
};

class AskingCursor final : public TraceCursor {
  public:
    AskingCursor(std::unique_ptr<TraceCursor> inner, std::uint32_t slot)
        : inner_(std::move(inner)), slot_(slot) {}

    Result<EventBatch> next() override {
        TM_ASSIGN(const EventBatch batch, inner_->next());
        const EventKind* const end = batch.kind + batch.count;
        if (std::find(batch.kind, end, EventKind::out_of_memory) == end)
            return batch;
        columns_.clear();
        for (std::size_t i = 0; i < batch.count; ++i) {
            TraceEvent event = batch[i];
            if (event.kind != EventKind::out_of_memory) {
                columns_.add(event);
                continue;
            }
            event.address = 0;
            event.slot = slot_;
            event.aux = 0;
            event.flags = 0;
            event.kind = EventKind::allocate;
            columns_.add(event);
            event.kind = EventKind::free;
            columns_.add(event);
        }
        return columns_.batch();
    }

  private:
    std::unique_ptr<TraceCursor> inner_;
    std::uint32_t slot_;
    Columns columns_;
};

}  // namespace

AskingTrace::AskingTrace(const Trace& trace, std::vector<std::uint64_t> refused)
    : trace_(trace), info_(trace.info()), added_(std::move(refused)) {
    info_.event_count += added_.size();
    ++info_.slot_count;
    for (std::size_t i = 0; i < added_.size(); ++i)
        added_[i] += i + 1;  // right after the request
}

std::uint64_t AskingTrace::original(std::uint64_t event) const {
    const auto before = std::upper_bound(added_.begin(), added_.end(), event) - added_.begin();
    return event - static_cast<std::uint64_t>(before);
}

std::unique_ptr<TraceCursor> AskingTrace::cursor() const {
    return std::make_unique<AskingCursor>(trace_.cursor(), info_.slot_count - 1);
}

}  // namespace tidemark
