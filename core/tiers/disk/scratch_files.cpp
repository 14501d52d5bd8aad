// Reserving and freeing parts of files.
#include "core/tiers/disk/scratch_files.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark {

Error file_error(FileError error, const std::string& action, const std::string& where) {
    const bool full = error.number == ENOSPC || error.number == EDQUOT;
    return {full ? ErrorCode::no_space : ErrorCode::io,
            fmt::format("cannot be {}: {}", action, to_text(error)), where,
            full ? "free space there" : ""};
}

Bytes FreeExtents::take(Bytes size) {
    const auto found = by_size_.lower_bound({size, 0});
    if (found == by_size_.end()) {
        end_ += size;
        return end_ - size;
    }
    const auto [whole, offset] = *found;
    erase(by_offset_.find(offset));
    if (whole > size)
        insert(offset + size, whole - size);
    return offset;
}

void FreeExtents::give(Bytes offset, Bytes size) {
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
        const auto before = std::prev(next);
        TM_CHECK(before->first + before->second <= offset);
        if (before->first + before->second == offset) {
            offset = before->first;
            size += before->second;
            erase(before);
        }
    }
    if (next != by_offset_.end() && next->first == offset + size) {
        size += next->second;
        erase(next);
    }
    insert(offset, size);
}

void FreeExtents::insert(Bytes offset, Bytes size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
}

void FreeExtents::erase(std::map<Bytes, Bytes>::iterator part) {
    by_size_.erase({part->second, part->first});
    by_offset_.erase(part);
}

ScratchFiles::~ScratchFiles() {
    TM_CHECK(used_ == 0);
    for (const Scratch& scratch : scratch_)
        (void)files_.close(scratch.file.id);
}

Result<void> ScratchFiles::add(const std::string& directory) {
    const FileResult<OpenFile> file = files_.create_scratch(directory);
    if (!file)
        return tl::make_unexpected(file_error(file.error(), "used", directory));
    scratch_.push_back({directory, *file});
    return {};
}

// The next one first; those that refused last time come after all others.
std::vector<std::uint32_t> ScratchFiles::turns() {
    const std::lock_guard guard(lock_);
    std::vector<std::uint32_t> order;
    const auto count = static_cast<std::uint32_t>(scratch_.size());
    for (std::uint32_t i = 0; i < count; ++i)
        order.push_back((next_ + i) % count);
    next_ = (next_ + 1) % count;
    std::stable_partition(order.begin(), order.end(), [this](std::uint32_t index) {
        return !scratch_[index].full && !scratch_[index].failed;
    });
    return order;
}

Result<ScratchExtent> ScratchFiles::allocate(Bytes size) {
    size = align_up(size, kFileBlock);
    std::optional<Error> first;
    for (const std::uint32_t directory : turns()) {
        const FileResult<ScratchExtent> extent = allocate_in(directory, size);
        if (extent)
            return *extent;
        if (!first)
            first = file_error(extent.error(), fmt::format("given {} bytes", size),
                               scratch_[directory].directory);
    }
    return tl::make_unexpected(std::move(*first));
}

FileResult<ScratchExtent> ScratchFiles::allocate_in(std::uint32_t directory, Bytes size) {
    Scratch& scratch = scratch_[directory];
    ScratchExtent extent{directory, 0, size};
    {
        const std::lock_guard guard(lock_);
        extent.offset = scratch.free.take(size);
        used_ += size;
    }
    const FileResult<void> given = files_.allocate(scratch.file.id, extent.offset, size);
    if (given)
        return extent;
    release(extent);
    const std::lock_guard guard(lock_);
    scratch.full = true;
    return tl::make_unexpected(given.error());
}

void ScratchFiles::release(const ScratchExtent& extent) {
    Scratch& scratch = scratch_[extent.directory];
    // Before anybody else can have it. If the file system cannot do it, the file keeps the space.
    (void)files_.release(scratch.file.id, extent.offset, extent.size);
    const std::lock_guard guard(lock_);
    scratch.free.give(extent.offset, extent.size);
    scratch.full = false;
    used_ -= extent.size;
}

void ScratchFiles::note(std::uint32_t directory, bool worked) {
    const std::lock_guard guard(lock_);
    scratch_[directory].failed = !worked;
}

Bytes ScratchFiles::used() const {
    const std::lock_guard guard(lock_);
    return used_;
}

}  // namespace tidemark
