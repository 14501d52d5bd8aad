// HistoryStore: finished histories in the user's cache (cache_folder.h), so that the next view
// opens immediately.
//
//   3f00c1d2a4b5e697/   one history: a file for each column, and `head`, which says what it is of,
//                       and how long each column must be, with a checksum over all of it
//
// An entry appears whole, by renaming its folder, when the disk has all of it. It is a cache: an
// entry that is damaged, has an older format or belongs to another trace counts as missing, and
// anyone may delete all of it at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "replay/scenario/scenario.h"
#include "replay/timeline/history.h"
#include "traces/io/own_folder.h"

namespace tidemark {

// What a history is of, independent of the trace's path and name.
struct HistoryKey {
    std::uint64_t trace_hash = 0;
    std::uint64_t file_hash = 0;  // Trace::file_hash()
    std::string scenario;         // two have the same only if their results are the same

    // The name of its folder: 16 digits.
    std::string name() const;
};

struct KeptHistory {
    std::shared_ptr<const History> history;
    Run run;
};

// A history that will be kept as a whole or not at all: without keep(), everything is deleted with
// the draft (code that has the history may go on reading it).
class HistoryDraft {
  public:
    HistoryDraft(const HistoryDraft&) = delete;
    HistoryDraft& operator=(const HistoryDraft&) = delete;
    ~HistoryDraft();

    // Where the builder may put its columns.
    const OwnFolder& folder() const { return folder_; }

    // `columns` are complete and are in folder(). O(bytes): it waits until the disk has them.
    // Errors: io; no_space: the cache's limit is too small.
    Result<void> keep(const HistoryKey& key, History::Columns& columns, const Run& run);

  private:
    friend class HistoryStore;

    HistoryDraft(OwnFolder cache, OwnFolder folder, std::string name)
        : cache_(std::move(cache)), folder_(std::move(folder)), name_(std::move(name)) {}

    OwnFolder cache_;
    OwnFolder folder_;
    std::string name_;
    bool kept_ = false;
};

class HistoryStore {
  public:
    // The store of this user. Creates and reads nothing. Errors: not_found: there is no folder for
    // it.
    static Result<HistoryStore> of_user();

    // The history kept under `key`; nothing if there is none that can be trusted, or it was
    // cancelled. It reads and checks all of it: O(bytes), 0.15 s for each GiB that the page cache
    // has.
    std::optional<KeptHistory> open(const HistoryKey& key,
                                    const std::atomic<bool>* cancelled = nullptr) const;

    // A new draft, which may need `bytes`: entries that were used long ago make room for it.
    // Errors: io (a folder that cannot be written, or others may write); no_space; bad_option: the
    // limit that the environment sets is invalid.
    Result<std::unique_ptr<HistoryDraft>> begin(const HistoryKey& key, Bytes bytes) const;

  private:
    explicit HistoryStore(std::string folder) : folder_(std::move(folder)) {}

    std::string folder_;
};

}  // namespace tidemark
