// history_store: folders with a head and columns.
#include "replay/scenario/history_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "replay/scenario/history_head.h"
#include "replay/scenario/kept_file.h"
#include "replay/timeline/history_columns.h"
#include "traces/io/output_file.h"
#include "traces/tmk/wire.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".tmk";
constexpr std::string_view kDraft = "draft-";
constexpr std::size_t kNameDigits = 16;

tl::unexpected<Error> failed(const char* what, const std::string& path, int code) {
    return fail(ErrorCode::io, fmt::format("{}: {}", what, std::strerror(code)), path);
}

bool is_entry(const std::string& name) {
    return name.size() == kNameDigits &&
           name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// A folder, locked for as long as it is open; -1 if somebody else has it.
int lock_folder(const fs::path& folder) {
    const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) != 0) {
        ::close(file);
        return -1;
    }
    return file;
}

void delete_folder(const fs::path& folder) {
    std::error_code ignored;  // what cannot go stays
    fs::remove_all(folder, ignored);
}

}  // namespace

std::string HistoryKey::name() const {
    tmk::ByteWriter writer;
    writer.put(kHistoryFormat);
    writer.put(trace_hash);
    writer.put_text(scenario);
    return fmt::format("{:016x}", tmk::hash_bytes(writer.bytes()));
}

std::optional<HistoryStore> HistoryStore::of(const std::string& trace) {
    std::error_code error;
    if (!std::string_view(trace).ends_with(kSuffix) || !fs::is_regular_file(trace, error))
        return std::nullopt;
    return HistoryStore(trace + ".tidemark");
}

std::optional<KeptHistory> HistoryStore::open(const HistoryKey& key) const {
    const std::string entry = folder_ + "/" + key.name();
    const auto bytes = read_kept_head(entry + "/head");
    if (!bytes)
        return std::nullopt;
    auto columns = std::make_unique<History::Columns>();
    KeptHistory kept;
    if (!read_history(*bytes, entry, key, *columns, kept.run))
        return std::nullopt;
    columns->set_kept_in(entry);
    kept.history = std::make_shared<const History>(std::move(columns));
    return kept;
}

// Deletes what the same file's other contents left behind, and drafts of processes that are gone.
void HistoryStore::sweep(std::uint64_t trace_hash) const {
    std::error_code error;
    std::vector<fs::path> stale;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(kDraft)) {
            const int lock = lock_folder(entry.path());
            if (lock >= 0) {
                stale.push_back(entry.path());
                ::close(lock);
            }
        } else if (is_entry(name)) {
            const auto head = read_kept_head(entry.path() / "head");
            if (!head || trace_of_head(*head) != trace_hash)
                stale.push_back(entry.path());
        }
    }
    for (const fs::path& path : stale)
        delete_folder(path);
}

Result<std::unique_ptr<HistoryDraft>> HistoryStore::begin(const HistoryKey& key,
                                                          Bytes bytes) const {
    std::error_code error;
    fs::create_directory(folder_, error);
    if (error)
        return fail(ErrorCode::io, "cannot be made: " + error.message(), folder_);
    sweep(key.trace_hash);
    const fs::space_info space = fs::space(folder_, error);
    if (!error && space.available < bytes)
        return fail(ErrorCode::io, "there is no room for it on this disk", folder_);
    std::unique_ptr<HistoryDraft> draft(new HistoryDraft);
    std::string path = fmt::format("{}/{}XXXXXX", folder_, kDraft);
    if (::mkdtemp(path.data()) == nullptr)
        return failed("cannot be made", path, errno);
    draft->store_ = folder_;
    draft->folder_ = path;
    draft->lock_ = lock_folder(path);
    return draft;
}

HistoryDraft::~HistoryDraft() {
    if (!kept_)
        delete_folder(folder_);
    if (lock_ >= 0)
        ::close(lock_);
}

Result<void> HistoryDraft::keep(const HistoryKey& key, History::Columns& columns, const Run& run) {
    const std::vector<std::byte> head = make_head(columns, key, run);
    TM_ASSIGN(const std::unique_ptr<OutputFile> file, OutputFile::create(folder_ + "/head"));
    TM_TRY(file->write(head));
    TM_TRY(file->commit());
    const std::string entry = store_ + "/" + key.name();
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (::rename(folder_.c_str(), entry.c_str()) == 0) {
            kept_ = true;
            folder_ = entry;
            columns.set_kept_in(entry);
            return {};
        }
        delete_folder(entry);  // one that could not be trusted, or another process's of the same
    }
    return failed("cannot be kept", entry, errno);
}

}  // namespace tidemark
