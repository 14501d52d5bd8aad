// history_store: folders with a head and columns.
#include "replay/scenario/history_store.h"

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/scenario/cache_folder.h"
#include "replay/scenario/history_head.h"
#include "replay/scenario/kept_file.h"
#include "replay/timeline/history_columns.h"
#include "traces/tmk/wire.h"

namespace tidemark {
namespace {

constexpr Bytes kFragmentationBytes = 9;  // an event, when it is kept with the history

Result<void> sync_folder(const OwnFolder& folder) {
    if (::fsync(folder.descriptor()) != 0)
        return io_error("cannot be written", folder.path());
    return {};
}

// Waits until the disk has all columns, which it writes together.
Result<void> sync_columns(History::Columns& columns) {
    TM_TRY(columns.for_each([](const char*, const auto& column, std::size_t) -> Result<void> {
        column.bytes()->begin_sync();
        return {};
    }));
    return columns.for_each([](const char*, const auto& column, std::size_t) -> Result<void> {
        return column.bytes()->sync();
    });
}

Bytes bytes_of(History::Columns& columns) {
    Bytes sum = columns.counts.get().events * kFragmentationBytes;
    static_cast<void>(columns.for_each([&sum](const char*, const auto& column, std::size_t) {
        sum += column.all().size_bytes();
        return Result<void>();
    }));
    return sum;
}

// A new folder, locked. Before it is locked, a process that tidies the cache may think that its
// maker is gone: then it is deleted, or soon will be.
Result<OwnFolder> make_draft(const OwnFolder& cache, const std::string& name) {
    const std::string path = cache.path() + "/" + name;
    if (::mkdirat(cache.descriptor(), name.c_str(), S_IRWXU) != 0)
        return io_error("cannot be made", path);
    TM_ASSIGN(OwnFolder folder, cache.open_folder(name));
    if (!lock_folder(folder))
        return fail(ErrorCode::io, "another process is tidying the cache", path);
    TM_TRY(cache.open_folder(name));
    return folder;
}

}  // namespace

std::string HistoryKey::name() const {
    tmk::ByteWriter writer;
    writer.put(kHistoryFormat);
    writer.put(trace_hash);
    writer.put(file_hash);
    writer.put_text(scenario);
    return fmt::format("{:016x}", tmk::hash_bytes(writer.bytes()));
}

Result<HistoryStore> HistoryStore::of_user() {
    TM_ASSIGN(std::string folder, cache_folder());
    return HistoryStore(std::move(folder));
}

std::optional<KeptHistory> HistoryStore::open(const HistoryKey& key,
                                              const std::atomic<bool>* cancelled) const {
    const Result<OwnFolder> cache = OwnFolder::open(folder_);
    if (!cache)
        return std::nullopt;
    const Result<OwnFolder> entry = cache->open_folder(key.name());
    if (!entry)
        return std::nullopt;
    const auto head = read_kept_head(*entry, kHeadFile);
    if (!head)
        return std::nullopt;
    auto columns = std::make_unique<History::Columns>();
    KeptHistory kept;
    if (!read_history(*head, *entry, key, *columns, kept.run, cancelled))
        return std::nullopt;
    touch_entry(*entry);
    columns->set_kept_in(entry->path());
    kept.history = std::make_shared<const History>(std::move(columns));
    return kept;
}

Result<std::unique_ptr<HistoryDraft>> HistoryStore::begin(const HistoryKey& key,
                                                          Bytes bytes) const {
    TM_ASSIGN(OwnFolder cache, OwnFolder::make(folder_));
    TM_TRY(make_cache_room(cache, bytes));
    constexpr int kAttempts = 3;
    for (int attempt = 1;; ++attempt) {
        std::string name = draft_of(key.name());
        Result<OwnFolder> folder = make_draft(cache, name);
        if (folder)
            return std::unique_ptr<HistoryDraft>(
                new HistoryDraft(std::move(cache), std::move(*folder), std::move(name)));
        if (attempt == kAttempts)
            return tl::make_unexpected(std::move(folder).error());
    }
}

HistoryDraft::~HistoryDraft() {
    if (!kept_)
        delete_entry(cache_, name_);
}

Result<void> HistoryDraft::keep(const HistoryKey& key, History::Columns& columns, const Run& run) {
    TM_TRY(sync_columns(columns));
    const std::vector<std::byte> head = make_head(columns, key, run);
    TM_TRY(write_kept_file(folder_, kHeadFile, head));
    TM_TRY(sync_folder(folder_));
    TM_TRY(make_cache_room(cache_, bytes_of(columns) + head.size()));
    const std::string entry = key.name();
    const int in = cache_.descriptor();
    // One of the same name can't be trusted, or another process has made it meanwhile.
    if (::renameat(in, name_.c_str(), in, entry.c_str()) != 0) {
        delete_entry(cache_, entry);
        if (::renameat(in, name_.c_str(), in, entry.c_str()) != 0)
            return io_error(
                "cannot be kept", cache_.path() + "/" + entry, errno,
                "a file or folder that Tidemark did not create is in its way: move it away");
    }
    kept_ = true;
    columns.set_kept_in(cache_.path() + "/" + entry);
    return sync_folder(cache_);
}

}  // namespace tidemark
