// record_history: replays a trace and keeps its History, or takes it from the user's cache if it
// has been kept before.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "replay/scenario/scenario.h"
#include "replay/timeline/history.h"

namespace tidemark {

struct RecordHistoryOptions {
    // Keep the built history in the user's cache (cache_folder.h), and use a kept one of the same
    // content. If there is no cache, or no room in it, nothing is kept, and that is a warning. Only
    // for .tmk files.
    bool keep = true;
    // Gets the history as soon as it exists, empty and growing: for code that reads it before it is
    // complete. Called on the caller's thread; a second time if the disk of the cache is full, with
    // a history that is built elsewhere.
    std::function<void(std::shared_ptr<const History>)> begun = {};
    std::function<void(std::uint64_t events_done)> progress = {};
    const std::atomic<bool>* cancel = nullptr;  // set: it ends with ErrorCode::cancelled soon
};

struct RecordedRun {
    std::shared_ptr<const History> history;
    Run run;                  // the figures; its timeline as well
    bool from_cache = false;  // `history` and `run` were kept from before
};

// Errors: those of run(); io. Thread-safe.
Result<RecordedRun> record_history(const Trace& trace, const Scenario& scenario,
                                   const RecordHistoryOptions& options = {});

}  // namespace tidemark
