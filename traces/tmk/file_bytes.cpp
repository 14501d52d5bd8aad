// Reading at offsets.
#include "traces/tmk/file_bytes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

namespace tidemark::tmk {

std::span<std::byte> PieceBuffer::room_for(std::size_t size) {
    if (size > size_) {
        bytes_.reset();  // never both at once
        bytes_ = std::make_unique_for_overwrite<std::byte[]>(size);
        size_ = size;
    }
    return {bytes_.get(), size};
}

Result<FileBytes> FileBytes::of(FileDescriptor file, std::string name) {
    struct stat status {};

    if (!file.valid() || ::fstat(file.get(), &status) != 0)
        return io_error("cannot be opened", name);
    if (!S_ISREG(status.st_mode))
        return fail(ErrorCode::io, "is not a plain file", name);
    FileBytes bytes;
    bytes.size_ = static_cast<std::uint64_t>(status.st_size);
    bytes.file_ = std::move(file);
    bytes.name_ = std::move(name);
    return bytes;
}

Result<std::span<const std::byte>> FileBytes::piece(std::uint64_t offset, std::size_t size,
                                                    PieceBuffer& buffer) const {
    if (offset >= size_)
        return std::span<const std::byte>();
    const std::size_t there =
        static_cast<std::size_t>(std::min<std::uint64_t>(size, size_ - offset));
    if (!file_.valid())
        return std::span(owned_).subspan(static_cast<std::size_t>(offset), there);
    const std::span<std::byte> target = buffer.room_for(there);
    TM_ASSIGN(const std::size_t count, file_.read_at(offset, target, name_));
    if (count < there)
        return fail(
            ErrorCode::bad_input, "the file ends here: it became shorter while it was being read",
            fmt::format("{}:{:#x}", name_, offset + count), "try again when it is complete");
    return target;
}

Result<FoundBlock> FileBytes::block(std::uint64_t offset, std::uint64_t end,
                                    PieceBuffer& buffer) const {
    if (offset > end || end - offset < kBlockHeaderSize)
        return FoundBlock{};
    TM_ASSIGN(const auto head, piece(offset, kBlockHeaderSize, buffer));
    const std::uint64_t size = size_of_payload(head);
    if (size > end - offset - kBlockHeaderSize)
        return FoundBlock{};
    TM_ASSIGN(const auto whole,
              piece(offset, kBlockHeaderSize + static_cast<std::size_t>(size), buffer));
    return find_block(whole, 0);
}

}  // namespace tidemark::tmk
