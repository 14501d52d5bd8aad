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
    // Keep what was built in the user's cache (cache_folder.h), and take what is there of the same
    // content. Where there is no cache, or no room in it, nothing is kept, and that is a warning.
    // Only of .tmk files.
    bool keep = true;
    // Given the history as soon as there is one, empty and growing: for who wants to look before it
    // is complete. Called from the caller's thread; once more if the disk of the cache turns
    // out to be full, with one that is made elsewhere instead.
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
