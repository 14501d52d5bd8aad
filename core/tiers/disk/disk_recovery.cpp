// Locks, and leftovers of the dead.
#include "core/tiers/disk/disk_recovery.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/tiers/disk/disk_format.h"
#include "core/tiers/disk/disk_stripes.h"

namespace tidemark {
namespace {

// A file of a store.
struct Candidate {
    std::uint32_t directory = 0;
    SpillName name;
    std::string path;
    Bytes bytes = 0;
    SpillHead head = {};  // once it was read
};

// Buffers by their write: (incarnation, sequence).
using Groups = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Candidate>>;

class Opening {
  public:
    Opening(BlockFiles& files, const DiskStoreOptions& options, ChunkIo& io)
        : files_(files), options_(options), io_(io) {}

    OpenedDirectories run();

  private:
    void take(std::uint32_t directory);
    void find(std::uint32_t directory);
    void sort_in(Candidate candidate);
    Result<SpillHead> read_head(const Candidate& candidate);
    Result<SpillHead> read_head(const Candidate& candidate, const OpenFile& file);
    void judge(std::vector<Candidate> group);
    Result<void> check(const StoredBuffer& buffer, const std::vector<Candidate>& group);
    void keep_latest();
    void dispose(const Candidate& candidate, Error why);
    void remove(const Candidate& candidate, std::optional<Error> why);
    bool all_usable() const;

    DirectoryReport& report(std::uint32_t directory) {
        return opened_.report.directories[directory];
    }

    BlockFiles& files_;
    const DiskStoreOptions& options_;
    ChunkIo& io_;
    OpenedDirectories opened_;
    Groups groups_;
};

bool same_write(const SpillHead& a, const SpillHead& b) {
    return a.buffer == b.buffer && a.tag == b.tag && a.layout == b.layout;
}

// Of files that are one whole buffer, in order of stripes.
StoredBuffer assemble(const std::vector<Candidate>& group) {
    const SpillHead& first = group.front().head;
    StoredBuffer buffer{.id = static_cast<BufferId>(first.buffer),
                        .tag = first.tag,
                        .sequence = first.sequence,
                        .placement = {first.layout, {}},
                        .checksums = {}};
    for (const Candidate& candidate : group)
        buffer.placement.stripes.push_back({candidate.directory, candidate.bytes});
    const std::uint64_t chunks = first.layout.chunks();
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk)
        buffer.checksums.push_back(
            group[chunk % group.size()].head.checksums[chunk / group.size()]);
    return buffer;
}

RecoveredBuffer summary(const SpillHead& head) {
    return {static_cast<BufferId>(head.buffer), head.layout.size, head.tag};
}

OpenedDirectories Opening::run() {
    for (std::uint32_t index = 0; index < options_.directories.size(); ++index) {
        opened_.report.directories.push_back(
            {.path = options_.directories[index].path, .error = {}, .faults = {}});
        opened_.usable.push_back(false);
    }
    for (std::uint32_t index = 0; index < options_.directories.size(); ++index)
        take(index);
    for (std::uint32_t index = 0; index < options_.directories.size(); ++index) {
        if (opened_.usable[index])
            find(index);
    }
    for (auto& [key, group] : groups_)
        judge(std::move(group));
    keep_latest();
    for (const StoredBuffer& buffer : opened_.buffers)
        opened_.report.recovered.push_back({buffer.id, buffer.placement.layout.size, buffer.tag});
    return std::move(opened_);
}

void Opening::take(std::uint32_t directory) {
    const std::string path = options_.directories[directory].path + "/";
    const auto lock = files_.lock(path + std::string(kSpillLockName));
    if (!lock) {
        Error error = file_error(lock.error(), "used", options_.directories[directory].path);
        if (lock.error().number == EWOULDBLOCK) {
            error.what = "is in use by another store";
            error.hint = "give each its own directory";
        }
        report(directory).error = std::move(error);
        return;
    }
    opened_.locks.push_back(*lock);
    opened_.usable[directory] = true;
}

void Opening::find(std::uint32_t directory) {
    const std::string& path = options_.directories[directory].path;
    auto names = files_.list(path);
    if (!names) {
        report(directory).error = file_error(names.error(), "listed", path);
        opened_.usable[directory] = false;
        return;
    }
    std::sort(names->begin(), names->end());
    for (const std::string& text : *names) {
        const std::optional<SpillName> name = parse_spill_name(text);
        if (!name)
            continue;
        opened_.next_sequence = std::max(opened_.next_sequence, name->sequence + 1);
        sort_in({directory, *name, path + "/" + text});
    }
}

void Opening::sort_in(Candidate candidate) {
    if (const auto file = files_.open(candidate.path, FileAccess::read)) {
        candidate.bytes = files_.size(file->id).value_or(0);
        (void)files_.close(file->id);
    }
    if (options_.leftovers == Leftovers::clean)
        return remove(candidate, std::nullopt);
    Result<SpillHead> head = read_head(candidate);
    if (!head)
        return dispose(candidate, std::move(head).error());
    candidate.head = std::move(*head);
    groups_[{candidate.head.incarnation, candidate.head.sequence}].push_back(std::move(candidate));
}

Result<SpillHead> Opening::read_head(const Candidate& candidate) {
    const auto file = files_.open(candidate.path, FileAccess::read);
    if (!file)
        return tl::make_unexpected(file_error(file.error(), "opened", candidate.path));
    Result<SpillHead> head = read_head(candidate, *file);
    (void)files_.close(file->id);
    if (!head && head.error().where.empty())
        head.error().where = candidate.path;
    return head;
}

Result<SpillHead> Opening::read_head(const Candidate& candidate, const OpenFile& file) {
    AlignedMemory memory;
    const auto read = [&](Bytes size) -> Result<void> {
        if (size > candidate.bytes)
            return fail(ErrorCode::bad_input, fmt::format("cut at {} bytes", candidate.bytes));
        if (!memory.grow(size))
            return fail(ErrorCode::io, "no memory for its head");
        if (const ChunkResult fault = io_.read_head(file, memory, size))
            return tl::make_unexpected(chunk_error(*fault, false, candidate.path));
        return {};
    };
    TM_TRY(read(kFileBlock));
    TM_ASSIGN(const Bytes size, head_size_of(memory.first(kFileBlock)));
    TM_TRY(read(size));
    TM_ASSIGN(SpillHead head, decode_head(memory.first(size)));
    const Bytes expected = head.layout.file_size(head.stripe);
    if (candidate.bytes != expected)
        return fail(ErrorCode::bad_input,
                    fmt::format("{} bytes, not {}", candidate.bytes, expected));
    if (SpillName{head.sequence, head.stripe} != candidate.name)
        return fail(ErrorCode::bad_input, "has another file's name");
    if (head.buffer > ~std::uint32_t{0})
        return fail(ErrorCode::bad_input, fmt::format("buffer {} is no id", head.buffer));
    return head;
}

// What to do with the files of one write.
void Opening::judge(std::vector<Candidate> group) {
    std::sort(group.begin(), group.end(),
              [](const Candidate& a, const Candidate& b) { return a.head.stripe < b.head.stripe; });
    const SpillHead& first = group.front().head;
    const bool of_one = std::all_of(group.begin(), group.end(), [&](const Candidate& candidate) {
        return same_write(candidate.head, first);
    });
    bool complete = of_one && group.size() == first.layout.stripes;
    for (std::uint32_t stripe = 0; complete && stripe < group.size(); ++stripe)
        complete = group[stripe].head.stripe == stripe;
    if (!complete && of_one && !all_usable()) {
        opened_.report.incomplete.push_back(summary(first));
        for (const Candidate& candidate : group)
            opened_.untouched.push_back({candidate.path, candidate.directory, candidate.bytes});
        return;
    }
    Error why{ErrorCode::bad_input, "other files of its buffer are missing", "", ""};
    if (complete) {
        StoredBuffer buffer = assemble(group);
        Result<void> whole = check(buffer, group);
        if (whole) {
            opened_.buffers.push_back(std::move(buffer));
            return;
        }
        why = std::move(whole).error();
    }
    for (const Candidate& candidate : group) {
        Error error = why;
        if (error.where.empty())
            error.where = candidate.path;
        dispose(candidate, std::move(error));
    }
}

Result<void> Opening::check(const StoredBuffer& buffer, const std::vector<Candidate>& group) {
    std::vector<std::string> paths;
    for (const Candidate& candidate : group)
        paths.push_back(candidate.path);
    StripeFiles stripes(files_, buffer.placement.layout, std::move(paths));
    StripeResult result = stripes.open();
    if (result)
        result = stripes.verify(io_, buffer.checksums);
    if (!result)
        return tl::make_unexpected(std::move(result.error().error));
    return {};
}

// Of buffers of the same id the one that was written last; by id.
void Opening::keep_latest() {
    std::vector<StoredBuffer>& buffers = opened_.buffers;
    std::sort(buffers.begin(), buffers.end(), [](const StoredBuffer& a, const StoredBuffer& b) {
        return std::tuple(a.id, b.sequence) < std::tuple(b.id, a.sequence);
    });
    std::vector<StoredBuffer> latest;
    for (StoredBuffer& buffer : buffers) {
        if (latest.empty() || latest.back().id != buffer.id) {
            latest.push_back(std::move(buffer));
            continue;
        }
        for (std::uint32_t stripe = 0; stripe < buffer.placement.stripes.size(); ++stripe) {
            const StripeLocation location = buffer.placement.stripes[stripe];
            const SpillName name{buffer.sequence, stripe};
            remove(
                {location.directory, name,
                 spill_path(options_.directories[location.directory].path, name), location.bytes},
                std::nullopt);
        }
    }
    buffers = std::move(latest);
}

// A damaged file goes. One that only cannot be read now, or is of a later version, may be whole.
void Opening::dispose(const Candidate& candidate, Error why) {
    if (why.code == ErrorCode::bad_input)
        return remove(candidate, std::move(why));
    report(candidate.directory).faults.push_back(std::move(why));
    opened_.untouched.push_back({candidate.path, candidate.directory, candidate.bytes});
}

void Opening::remove(const Candidate& candidate, std::optional<Error> why) {
    DirectoryReport& its = report(candidate.directory);
    if (why)
        its.faults.push_back(std::move(*why));
    const auto removed = files_.remove(candidate.path);
    if (removed) {
        ++its.removed_files;
        its.removed_bytes += candidate.bytes;
        return;
    }
    Error error = file_error(removed.error(), "removed", candidate.path);
    its.faults.push_back(error);
    opened_.stay.push_back({{candidate.path, candidate.directory, candidate.bytes}, error});
}

bool Opening::all_usable() const {
    return std::all_of(opened_.usable.begin(), opened_.usable.end(),
                       [](bool usable) { return usable; });
}

}  // namespace

OpenedDirectories open_directories(BlockFiles& files, const DiskStoreOptions& options,
                                   ChunkIo& io) {
    return Opening(files, options, io).run();
}

}  // namespace tidemark
