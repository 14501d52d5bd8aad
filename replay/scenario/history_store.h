// HistoryStore: finished histories beside their trace, so that the next look is there at once.
//
//   run.tmk.tidemark/3f00c1d2a4b5e697/   one history: a file for each column, and `head`, which
//   says
//                                        what it is of and how long each column must be
//   run.tmk.tidemark/draft-x7Gk2Q/       one that is being made, locked by who makes it
//
// An entry appears whole, by renaming its folder. It is a cache: what is damaged, of an older
// format or of another trace is as good as not there, and anybody may delete all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "replay/scenario/scenario.h"
#include "replay/timeline/history.h"

namespace tidemark {

// What a history is of. `scenario` is a text that two scenarios share only if they come to the
// same.
struct HistoryKey {
    std::uint64_t trace_hash = 0;
    std::string scenario;

    // The name of its folder: 16 digits.
    std::string name() const;
};

struct KeptHistory {
    std::shared_ptr<const History> history;
    Run run;
};

// A history that will be kept, or nothing of it: without keep() all is gone with the draft (who has
// the history may go on reading it).
class HistoryDraft {
  public:
    HistoryDraft(const HistoryDraft&) = delete;
    HistoryDraft& operator=(const HistoryDraft&) = delete;
    ~HistoryDraft();

    // Where the builder may put its columns.
    const std::string& folder() const { return folder_; }

    // `columns` are complete and lie in folder(). Errors: io.
    Result<void> keep(const HistoryKey& key, History::Columns& columns, const Run& run);

  private:
    friend class HistoryStore;

    HistoryDraft() = default;

    std::string store_;
    std::string folder_;
    int lock_ = -1;
    bool kept_ = false;
};

class HistoryStore {
  public:
    // That of a trace's file. Nothing is made or looked at. Empty where a trace has no place: it is
    // no .tmk file.
    static std::optional<HistoryStore> of(const std::string& trace);

    // What has been kept under `key`; nothing if there is none that can be trusted. O(names); takes
    // some 10 ms.
    std::optional<KeptHistory> open(const HistoryKey& key) const;

    // A new draft, which may need `bytes`. Entries of other content that the same file had, and
    // drafts that nobody works at any more, are deleted first. Errors: io (a folder that cannot be
    // written, no room).
    Result<std::unique_ptr<HistoryDraft>> begin(const HistoryKey& key, Bytes bytes) const;

    const std::string& folder() const { return folder_; }

  private:
    explicit HistoryStore(std::string folder) : folder_(std::move(folder)) {}

    void sweep(std::uint64_t trace_hash) const;

    std::string folder_;
};

}  // namespace tidemark
