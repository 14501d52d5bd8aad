// The store's face: options, tickets, and the blocking forms.
#include "core/tiers/disk/disk_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/tiers/disk/disk_core.h"

namespace tidemark {
namespace {

constexpr unsigned kDiskStoreDeepest = 128;
constexpr unsigned kMostWorkers = 64;

// The only difference is at the end: "/spill/" and "/spill" are one location.
std::string without_slashes(std::string path) {
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    return path;
}

Result<void> check(const DiskStoreOptions& options) {
    const auto bad = [](std::string what) {
        return fail(ErrorCode::bad_option, std::move(what), "disk store");
    };
    if (options.directories.empty())
        return bad("needs a directory");
    if (options.directories.size() > kMostStripes)
        return bad(fmt::format("takes {} directories at most", kMostStripes));
    if (options.chunk == 0 || options.chunk % kFileBlock != 0 || options.chunk > kLargestChunk)
        return bad(fmt::format("a chunk of {} bytes: must be a multiple of {}, at most {}",
                               options.chunk, kFileBlock, kLargestChunk));
    if (options.depth == 0 || options.depth > kDiskStoreDeepest)
        return bad(fmt::format("a depth of {}: must be 1 to {}", options.depth, kDiskStoreDeepest));
    if (options.workers == 0 || options.workers > kMostWorkers)
        return bad(fmt::format("{} workers: must be 1 to {}", options.workers, kMostWorkers));
    for (std::size_t i = 0; i < options.directories.size(); ++i) {
        const std::string& path = options.directories[i].path;
        if (path.empty())
            return bad("a directory without a name");
        for (std::size_t j = 0; j < i; ++j) {
            if (options.directories[j].path == path)
                return bad(fmt::format("the directory {} is given twice", path));
        }
    }
    return {};
}

// Why none of them can be used.
tl::unexpected<Error> nowhere(const DiskOpenReport& report) {
    Error error = *report.directories.front().error;
    if (report.directories.size() > 1)
        error.what += fmt::format(" (and none of {} other directories can be used)",
                                  report.directories.size() - 1);
    return tl::make_unexpected(std::move(error));
}

}  // namespace

bool DiskTicket::done() const {
    const std::lock_guard guard(state_->lock);
    return state_->outcome.has_value();
}

Result<void> DiskTicket::wait() const {
    std::unique_lock guard(state_->lock);
    state_->changed.wait(guard, [&] { return state_->outcome.has_value(); });
    return *state_->outcome;
}

Result<std::unique_ptr<DiskStore>> DiskStore::open(BlockFiles& files, DiskStoreOptions options) {
    for (DiskDirectory& directory : options.directories)
        directory.path = without_slashes(std::move(directory.path));
    TM_TRY(check(options));
    OpenedDirectories opened;
    {
        ChunkIo io(files, options.depth, static_cast<unsigned>(options.directories.size()));
        opened = open_directories(files, options, io);
    }
    if (std::find(opened.usable.begin(), opened.usable.end(), true) == opened.usable.end()) {
        for (const FileId lock : opened.locks)
            (void)files.close(lock);
        return nowhere(opened.report);
    }
    auto core = std::make_unique<DiskCore>(files, std::move(options), std::move(opened));
    TM_TRY(core->start());
    return std::unique_ptr<DiskStore>(new DiskStore(std::move(core)));
}

DiskStore::DiskStore(std::unique_ptr<DiskCore> core) : core_(std::move(core)) {}

DiskStore::~DiskStore() = default;

const DiskStoreOptions& DiskStore::options() const {
    return core_->options();
}

const DiskOpenReport& DiskStore::report() const {
    return core_->report();
}

DiskTicket DiskStore::write_async(BufferId id, SourceSpans sources, std::uint64_t tag) {
    return DiskTicket(core_->write(id, sources, tag));
}

Result<void> DiskStore::write(BufferId id, SourceSpans sources, std::uint64_t tag) {
    return write_async(id, sources, tag).wait();
}

DiskTicket DiskStore::read_async(BufferId id, TargetSpans targets, Bytes offset) {
    return DiskTicket(core_->read(id, targets, offset));
}

Result<void> DiskStore::read(BufferId id, TargetSpans targets, Bytes offset) {
    return read_async(id, targets, offset).wait();
}

Result<DiskWriter> DiskStore::begin_write(BufferId id, Bytes size, std::uint64_t tag) {
    TM_ASSIGN(std::shared_ptr<DiskWriter::State> state, core_->begin(id, size, tag));
    return DiskWriter(std::move(state));
}

DiskTicket DiskStore::write_part(const DiskWriter& writer, Bytes offset, SourceSpans sources) {
    return DiskTicket(core_->write_part(writer.state(), offset, sources));
}

DiskTicket DiskStore::commit(const DiskWriter& writer) {
    return DiskTicket(core_->commit(writer.state()));
}

Result<void> DiskStore::erase(BufferId id) {
    return core_->erase(id);
}

bool DiskStore::contains(BufferId id) const {
    return core_->find(id).has_value();
}

std::optional<Bytes> DiskStore::size(BufferId id) const {
    const auto facts = core_->find(id);
    return facts ? std::optional(facts->size) : std::nullopt;
}

std::optional<std::uint64_t> DiskStore::tag(BufferId id) const {
    const auto facts = core_->find(id);
    return facts ? std::optional(facts->tag) : std::nullopt;
}

Bytes DiskStore::cost(Bytes size) const {
    return core_->cost(size);
}

DiskUsage DiskStore::usage() const {
    return core_->usage();
}

std::vector<DirectoryState> DiskStore::directories() const {
    return core_->directories();
}

}  // namespace tidemark
