// LibraryFront: the front for a caller of the library, which has no terminal. It keeps notes for
// the answer, and progress until it is reported to the caller's own function.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "replay/c_api/tidemark.h"
#include "replay/cli_support/front.h"

namespace tidemark::c_api {

class LibraryFront final : public Front {
  public:
    LibraryFront() : Front(Terminal{}) {}

    void note(std::string_view text) override;
    void note_help(std::string_view text) override;
    void show(std::string_view label, std::uint64_t done, std::uint64_t total) override;

    std::function<bool()> stop() override {
        return [this] { return cancelled_.load(std::memory_order_relaxed); };
    }

    std::function<bool()> cancelled() override { return stop(); }

    const Trace* opened(const std::string& path, const TraceReading& reading,
                        bool recorded) const override;

    bool owns_process() const override { return false; }

    // Commands take these for the files that they were read from.
    void lend(std::span<tm_trace* const> traces) { traces_ = traces; }

    // All notes, as they would appear on standard error.
    std::string notes() const;

    // Runs `work`, and reports its progress to the caller a few times a second and once at the
    // start; a null `progress` gets no reports. `work` then runs on its own thread, so that only
    // the caller's thread calls the caller's function, and at a steady pace whatever the work is
    // doing. Throws what `work` throws.
    void run(tm_progress progress, void* user, const std::function<void()>& work);

  private:
    bool show_caller(tm_progress progress, void* user) const;

    mutable std::mutex mutex_;  // guards the next four
    std::string notes_;
    std::string label_;
    std::uint64_t done_ = 0;
    std::uint64_t total_ = 0;
    std::atomic<bool> cancelled_ = false;
    std::span<tm_trace* const> traces_;
};

// Front::opened of one trace.
const Trace* trace_of(const tm_trace& trace, const std::string& path, const TraceReading& reading,
                      bool recorded);

}  // namespace tidemark::c_api
