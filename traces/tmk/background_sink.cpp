// Three pieces at most: one that is being filled, one that waits, one that is being encoded.
#include "traces/tmk/background_sink.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace tidemark {
namespace {

constexpr std::size_t kPiece = 16384;  // events

}  // namespace

BackgroundSink::BackgroundSink(TraceSink& target) : target_(target) {
    filling_.reserve(kPiece);
    try {
        worker_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
        // No thread to be had: hand_over() then calls the target itself.
    }
}

BackgroundSink::~BackgroundSink() {
    stop();
}

Result<void> BackgroundSink::append(std::span<const TraceEvent> events) {
    while (!events.empty()) {
        const std::size_t count = std::min(events.size(), kPiece - filling_.size());
        filling_.insert(filling_.end(), events.begin(),
                        events.begin() + static_cast<std::ptrdiff_t>(count));
        events = events.subspan(count);
        if (filling_.size() == kPiece)
            TM_TRY(hand_over());
    }
    return {};
}

Result<void> BackgroundSink::finish(const TraceInfo& info) {
    TM_TRY(hand_over());
    stop();
    TM_TRY(outcome_);
    return target_.finish(info);
}

Result<void> BackgroundSink::hand_over() {
    if (!worker_.joinable()) {
        TM_TRY(target_.append(filling_));
        filling_.clear();
        return {};
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty() || !outcome_; });
    TM_TRY(outcome_);
    std::swap(waiting_, filling_);
    filling_.reserve(kPiece);
    changed_.notify_all();
    return {};
}

void BackgroundSink::stop() {
    if (!worker_.joinable())
        return;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    worker_.join();
}

// Whatever waits is worked off before it stops.
void BackgroundSink::work() {
    std::vector<TraceEvent> piece;
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return !waiting_.empty() || stopping_; });
        if (waiting_.empty() || !outcome_)
            return;
        std::swap(piece, waiting_);
        changed_.notify_all();
        lock.unlock();
        Result<void> appended = target_.append(piece);
        piece.clear();
        lock.lock();
        if (!appended) {
            outcome_ = std::move(appended);
            changed_.notify_all();
            return;
        }
    }
}

}  // namespace tidemark
