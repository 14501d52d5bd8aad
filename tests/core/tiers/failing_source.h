// FailingSource: plain memory as a PinnedSource that refuses when it is told to, waits until it is
// told to go on, and knows what is out.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

#include "core/tiers/host/pinned_source.h"

namespace tidemark {

class FailingSource final : public PinnedSource {
  public:
    Result<Range> allocate(Bytes size) override {
        std::unique_lock hold(mutex_);
        ++calls_;
        ++inside_;
        overlapped_ = overlapped_ || inside_ > 1;
        changed_.notify_all();
        changed_.wait(hold, [this] { return !closed_; });
        --inside_;
        if (calls_ >= fail_from_)
            return fail(ErrorCode::driver, "no more memory can be pinned", "failing source");
        hold.unlock();
        Result<Range> range = plain_.allocate(size);
        hold.lock();
        if (range)
            out_.emplace(to_integer(range->begin), size);
        return range;
    }

    void free(Range range) override {
        const std::lock_guard hold(mutex_);
        const auto found = out_.find(to_integer(range.begin));
        wrong_frees_ += found == out_.end() || found->second != range.size;
        if (found == out_.end())
            return;
        out_.erase(found);
        plain_.free(range);
    }

    // Refuses from the call of that number on (the first is 1); 0: never.
    void fail_from(std::uint64_t call) {
        const std::lock_guard hold(mutex_);
        fail_from_ = call == 0 ? kNever : call;
    }

    // Calls wait inside until the source is opened.
    void close() {
        const std::lock_guard hold(mutex_);
        closed_ = true;
    }

    void open() {
        const std::lock_guard hold(mutex_);
        closed_ = false;
        changed_.notify_all();
    }

    // Until a call waits inside.
    void await_caller() {
        std::unique_lock hold(mutex_);
        changed_.wait(hold, [this] { return inside_ > 0; });
    }

    std::uint64_t calls() const {
        const std::lock_guard hold(mutex_);
        return calls_;
    }

    std::size_t pieces() const {
        const std::lock_guard hold(mutex_);
        return out_.size();
    }

    Bytes bytes() const {
        const std::lock_guard hold(mutex_);
        Bytes sum = 0;
        for (const auto& [begin, size] : out_)
            sum += size;
        return sum;
    }

    // Whether it was ever asked by two threads at once, or given back what it had not given.
    bool misused() const {
        const std::lock_guard hold(mutex_);
        return overlapped_ || wrong_frees_ != 0;
    }

  private:
    static constexpr std::uint64_t kNever = ~std::uint64_t{0};

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    PlainSource plain_;
    std::map<Bytes, Bytes> out_;
    std::uint64_t calls_ = 0;
    std::uint64_t fail_from_ = kNever;
    int inside_ = 0;
    int wrong_frees_ = 0;
    bool closed_ = false;
    bool overlapped_ = false;
};

}  // namespace tidemark
