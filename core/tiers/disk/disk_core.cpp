// The tables of a disk store, and the calling threads' side of its operations.
#include "core/tiers/disk/disk_core.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

std::string name_of(BufferId id) {
    return fmt::format("buffer {}", to_integer(id));
}

tl::unexpected<Error> being_written(BufferId id) {
    return fail(ErrorCode::bad_input, "is being written", name_of(id), "wait for that first");
}

Bytes sum_of(const std::vector<MemoryPiece>& pieces) {
    Bytes sum = 0;
    for (const MemoryPiece& piece : pieces)
        sum += piece.size;
    return sum;
}

std::vector<MemoryPiece> pieces_of(SourceSpans sources) {
    std::vector<MemoryPiece> pieces;
    for (const std::span<const std::byte> source : sources)
        pieces.push_back({const_cast<std::byte*>(source.data()), source.size()});  // only read
    return pieces;
}

std::vector<MemoryPiece> pieces_of(TargetSpans targets) {
    std::vector<MemoryPiece> pieces;
    for (const std::span<std::byte> target : targets)
        pieces.push_back({target.data(), target.size()});
    return pieces;
}

DiskCore::Ticket finished(Result<void> result) {
    auto ticket = std::make_shared<DiskTicket::State>();
    ticket->finish(std::move(result));
    return ticket;
}

}  // namespace

DiskWriter::State::State(DiskCore& owner, BufferId buffer_id, std::uint64_t buffer_tag)
    : core(owner), id(buffer_id), tag(buffer_tag) {}

DiskWriter::State::~State() {
    core.abandon(*this);
}

DiskCore::DiskCore(BlockFiles& files, DiskStoreOptions options, OpenedDirectories opened)
    : files_(files),
      options_(std::move(options)),
      incarnation_(files.nonce()),
      report_(std::move(opened.report)),
      locks_(std::move(opened.locks)),
      space_(options_.directories, options_.quota),
      next_sequence_(opened.next_sequence) {
    for (std::uint32_t directory = 0; directory < opened.usable.size(); ++directory) {
        if (opened.usable[directory])
            space_.set_usable(directory);
    }
    for (StoredBuffer& buffer : opened.buffers) {
        space_.adopt(buffer.placement);
        stored_ += buffer.placement.layout.size;
        const BufferId id = buffer.id;
        entries_[id] = std::make_shared<DiskEntry>(DiskEntry{std::move(buffer)});
    }
    for (const StrandedFile& file : opened.untouched)
        space_.adopt({{}, {{file.directory, file.bytes}}});
    for (LeftFile& left : opened.stay)
        space_.adopt_stranded(std::move(left.file), left.error);
}

Result<void> DiskCore::start() {
    workers_.reserve(options_.workers);
    TM_ASSIGN(Thread first, Thread::start("tm-disk", [this] { work(); }));
    workers_.push_back(std::move(first));
    for (Thread& other : start_threads("tm-disk", options_.workers - 1, [this] { work(); }))
        workers_.push_back(std::move(other));
    return {};
}

DiskCore::~DiskCore() {
    jobs_.close();
    workers_.clear();         // waits for them
    TM_CHECK(writers_ == 0);  // a DiskWriter has outlived its store
    if (!options_.keep_at_close) {
        for (const auto& [id, entry] : entries_)
            (void)remove_files(entry->buffer);
    }
    retry_stranded();
    for (const FileId lock : locks_)
        (void)files_.close(lock);
}

DiskCore::Ticket DiskCore::write(BufferId id, SourceSpans sources, std::uint64_t tag) {
    std::vector<MemoryPiece> pieces = pieces_of(sources);
    auto write = accept(id, sum_of(pieces), tag);
    if (!write)
        return finished(tl::make_unexpected(std::move(write).error()));
    return push([this, write = std::move(*write), pieces = std::move(pieces)](ChunkIo& io) {
        return write_whole(io, *write, pieces);
    });
}

DiskCore::Ticket DiskCore::read(BufferId id, TargetSpans targets, Bytes offset) {
    std::vector<MemoryPiece> pieces = pieces_of(targets);
    const Bytes size = sum_of(pieces);
    std::shared_ptr<DiskEntry> entry;
    {
        const std::lock_guard guard(lock_);
        const auto found = entries_.find(id);
        if (found == entries_.end())
            return finished(fail(ErrorCode::not_found, "is not stored", name_of(id)));
        const Bytes whole = found->second->buffer.placement.layout.size;
        if (offset > whole || size > whole - offset)
            return finished(
                fail(ErrorCode::bad_input,
                     fmt::format("has {} bytes: cannot read {} from {} on", whole, size, offset),
                     name_of(id)));
        entry = found->second;
        ++entry->readers;
    }
    return push([this, entry = std::move(entry), offset, pieces = std::move(pieces)](ChunkIo& io) {
        return read_some(io, *entry, offset, pieces);
    });
}

Result<std::shared_ptr<DiskCore::Write>> DiskCore::begin(BufferId id, Bytes size,
                                                         std::uint64_t tag) {
    TM_ASSIGN(std::shared_ptr<Write> write, accept(id, size, tag));
    write->files = std::make_unique<StripeFiles>(files_, write->placement.layout,
                                                 paths(write->placement, write->sequence));
    if (const StripeResult created = write->files->create(); !created)
        return give_up(*write, created.error());
    return write;
}

DiskCore::Ticket DiskCore::write_part(std::shared_ptr<Write> write, Bytes offset,
                                      SourceSpans sources) {
    std::vector<MemoryPiece> pieces = pieces_of(sources);
    const Bytes size = sum_of(pieces);
    if (Result<void> begun = begin_part(*write, offset, size); !begun || size == 0)
        return finished(std::move(begun));
    return push([this, write = std::move(write), offset, pieces = std::move(pieces)](ChunkIo& io) {
        return write_some(io, *write, offset, pieces);
    });
}

Result<void> DiskCore::begin_part(Write& write, Bytes offset, Bytes size) {
    const StripeLayout& layout = write.placement.layout;
    const std::lock_guard guard(lock_);
    if (write.committing || write.ended)
        return fail(ErrorCode::bad_input, "is committed already", name_of(write.id));
    if (offset > layout.size || size > layout.size - offset || offset % layout.chunk != 0 ||
        (size % layout.chunk != 0 && offset + size != layout.size))
        return fail(ErrorCode::bad_input,
                    fmt::format("{} bytes from {} on are no whole chunks of {}", size, offset,
                                format_bytes(layout.chunk)),
                    name_of(write.id));
    if (size > 0)
        ++write.parts;
    return {};
}

DiskCore::Ticket DiskCore::commit(std::shared_ptr<Write> write) {
    if (Result<void> begun = begin_commit(*write); !begun)
        return finished(std::move(begun));
    return push([this, write = std::move(write)](ChunkIo& io) { return seal(io, *write); });
}

Result<void> DiskCore::begin_commit(Write& write) {
    const std::lock_guard guard(lock_);
    if (write.committing || write.ended)
        return fail(ErrorCode::bad_input, "is committed already", name_of(write.id));
    if (write.parts > 0)
        return fail(ErrorCode::bad_input, "has parts under way", name_of(write.id));
    if (write.failed)
        return fail(ErrorCode::io, "a part of it failed", name_of(write.id), "write it again");
    if (std::find(write.written.begin(), write.written.end(), false) != write.written.end())
        return fail(ErrorCode::bad_input, "has parts that were not written", name_of(write.id));
    write.committing = true;
    return {};
}

Result<void> DiskCore::erase(BufferId id) {
    retry_stranded();
    std::shared_ptr<DiskEntry> entry;
    {
        const std::lock_guard guard(lock_);
        if (writing_.contains(id))
            return being_written(id);
        const auto found = entries_.find(id);
        if (found == entries_.end())
            return fail(ErrorCode::not_found, "is not stored", name_of(id));
        entry = std::move(found->second);
        entries_.erase(found);
        stored_ -= entry->buffer.placement.layout.size;
        entry->doomed = true;
        if (entry->readers > 0)
            return {};  // the last of them removes the files
    }
    return remove_files(entry->buffer);
}

std::optional<DiskCore::Facts> DiskCore::find(BufferId id) const {
    const std::lock_guard guard(lock_);
    const auto found = entries_.find(id);
    if (found == entries_.end())
        return std::nullopt;
    return Facts{found->second->buffer.placement.layout.size, found->second->buffer.tag};
}

Bytes DiskCore::cost(Bytes size) const {
    const std::lock_guard guard(lock_);
    return space_.cost(size, options_.chunk, options_.stripes);
}

DiskUsage DiskCore::usage() const {
    const std::lock_guard guard(lock_);
    return {stored_, space_.used(), options_.quota, entries_.size(), pending_};
}

std::vector<DirectoryState> DiskCore::directories() const {
    const std::lock_guard guard(lock_);
    return space_.directories();
}

Result<std::shared_ptr<DiskCore::Write>> DiskCore::accept(BufferId id, Bytes size,
                                                          std::uint64_t tag) {
    const StripeLayout layout{size, options_.chunk, 1};
    if (!layout.valid())
        return fail(ErrorCode::bad_input,
                    fmt::format("{} are too much for chunks of {}", format_bytes(size),
                                format_bytes(options_.chunk)),
                    name_of(id));
    auto write = std::make_shared<Write>(*this, id, tag);
    write->ended = true;  // until it is accepted
    TM_ASSIGN(bool accepted, try_accept(*write, size));
    if (!accepted) {
        retry_stranded();
        TM_ASSIGN(accepted, try_accept(*write, size));
    }
    if (accepted)
        return write;
    const std::lock_guard guard(lock_);
    return tl::make_unexpected(space_.no_room(size));
}

// Takes the id and a location, if there is room.
Result<bool> DiskCore::try_accept(Write& write, Bytes size) {
    const std::lock_guard guard(lock_);
    if (writing_.contains(write.id))
        return being_written(write.id);
    if (!allocate(write, size, {}))
        return false;
    writing_.insert(write.id);
    ++writers_;
    write.ended = false;
    return true;
}

// Under the lock.
bool DiskCore::allocate(Write& write, Bytes size, const std::vector<bool>& avoid) {
    auto placement = space_.allocate(size, options_.chunk, options_.stripes, avoid);
    if (!placement)
        return false;
    write.placement = std::move(*placement);
    write.sequence = next_sequence_++;
    write.checksums.assign(write.placement.layout.chunks(), 0);
    write.written.assign(write.placement.layout.chunks(), false);
    return true;
}

void DiskCore::abandon(Write& write) {
    if (write.ended)
        return;
    drop_files(write);
    const std::lock_guard guard(lock_);
    write.ended = true;
    writing_.erase(write.id);
    --writers_;
}

// Removes what a write has made so far and gives its location back.
void DiskCore::drop_files(Write& write) {
    const std::unique_ptr<StripeFiles> files = std::move(write.files);
    if (files)
        (void)files->close();
    for (std::uint32_t stripe = 0; stripe < write.placement.stripes.size(); ++stripe) {
        const StripeLocation location = write.placement.stripes[stripe];
        if (files && files->created(stripe)) {
            (void)remove_file(files->paths()[stripe], location);
        } else {
            const std::lock_guard guard(lock_);
            space_.release(location);
        }
    }
    write.placement = {};
}

void DiskCore::note_failure(std::uint32_t directory, const Error& error) {
    if (error.code != ErrorCode::io && error.code != ErrorCode::no_space)
        return;  // not the directory's fault
    const std::lock_guard guard(lock_);
    space_.note_failure(directory, error);
}

// Noted after its files have gone: what they leave free is no news.
tl::unexpected<Error> DiskCore::give_up(Write& write, const StripeFailure& failure) {
    const std::uint32_t directory = write.placement.stripes[failure.stripe].directory;
    abandon(write);
    note_failure(directory, failure.error);
    return tl::make_unexpected(failure.error);
}

std::vector<std::string> DiskCore::paths(const FilePlacement& placement,
                                         std::uint64_t sequence) const {
    std::vector<std::string> paths;
    for (std::uint32_t stripe = 0; stripe < placement.stripes.size(); ++stripe) {
        const DiskDirectory& directory = options_.directories[placement.stripes[stripe].directory];
        paths.push_back(spill_path(directory.path, {sequence, stripe}));
    }
    return paths;
}

// The first file goes first: without it the others are no buffer.
Result<void> DiskCore::remove_files(const StoredBuffer& buffer) {
    const std::vector<std::string> all = paths(buffer.placement, buffer.sequence);
    Result<void> result;
    for (std::size_t stripe = 0; stripe < all.size(); ++stripe) {
        Result<void> removed = remove_file(all[stripe], buffer.placement.stripes[stripe]);
        if (!removed && result)
            result = std::move(removed);
    }
    return result;
}

Result<void> DiskCore::remove_file(const std::string& path, StripeLocation location) {
    const auto removed = files_.remove(path);
    const std::lock_guard guard(lock_);
    if (removed || removed.error().number == ENOENT) {
        space_.release(location);
        return {};
    }
    Error error = file_error(removed.error(), "removed", path);
    space_.strand({path, location.directory, location.bytes}, error);
    return tl::make_unexpected(std::move(error));
}

void DiskCore::retry_stranded() {
    std::vector<StrandedFile> stranded;
    {
        const std::lock_guard guard(lock_);
        stranded = space_.take_stranded();
    }
    for (const StrandedFile& file : stranded)
        (void)remove_file(file.path, {file.directory, file.bytes});
}

}  // namespace tidemark
