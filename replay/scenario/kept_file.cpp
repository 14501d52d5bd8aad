// kept_file: heads with a checksum in front, and checksums of columns.
#include "replay/scenario/kept_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/check.h"
#include "core/base/threads.h"

namespace tidemark {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20U;  // bytes; a part of the format
constexpr std::size_t kBlocksOfOne = 8;                // more than so many are worth threads
constexpr std::size_t kWritten = std::size_t{1} << 20U;
constexpr off_t kLargestHead = off_t{1} << 30U;

bool is_set(const std::atomic<bool>* flag) {
    return flag != nullptr && flag->load(std::memory_order_relaxed);
}

// Tells the kernel that all of a mapped column is read next, so that a slow disk works ahead.
void read_ahead(std::span<const std::byte> column) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(column.data());
    const std::uintptr_t from = begin / page * page;
    ::madvise(reinterpret_cast<void*>(from), begin + column.size() - from, MADV_WILLNEED);
}

Result<void> write_all(const FileDescriptor& file, std::span<const std::byte> bytes,
                       const std::string& path, const std::atomic<bool>* cancelled) {
    for (std::size_t begin = 0; begin < bytes.size(); begin += kWritten) {
        if (is_set(cancelled))
            return fail(ErrorCode::cancelled, "was cancelled", path);
        const std::size_t size = std::min(kWritten, bytes.size() - begin);
        if (const int code = file.write_at(begin, bytes.subspan(begin, size)); code != 0)
            return io_error("cannot be written", path, code);
    }
    if (::fsync(file.get()) != 0)
        return io_error("cannot be written", path);
    return {};
}

}  // namespace

std::vector<std::byte> seal(const KeptMagic& magic, std::span<const std::byte> content) {
    tmk::ByteWriter head;
    head.put_bytes(std::as_bytes(std::span(magic)));
    head.put(tmk::hash_bytes(content));
    head.put_bytes(content);
    const std::span<const std::byte> bytes = head.bytes();
    return {bytes.begin(), bytes.end()};
}

std::optional<tmk::ByteReader> unseal(const KeptMagic& magic, std::uint32_t format,
                                      std::span<const std::byte> head) {
    tmk::ByteReader reader(head);
    const auto begin = reader.get_bytes(magic.size());
    const auto sum = reader.get<std::uint64_t>();
    if (!reader.ok() ||
        !std::equal(begin.begin(), begin.end(), std::as_bytes(std::span(magic)).begin()))
        return std::nullopt;
    if (tmk::hash_bytes(head.last(reader.left())) != sum || reader.get<std::uint32_t>() != format)
        return std::nullopt;
    return reader;
}

std::optional<std::vector<std::byte>> read_kept_head(const OwnFolder& folder,
                                                     const std::string& name) {
    const Result<FileDescriptor> file = folder.open_file(name, O_RDONLY);

    struct stat status {};

    if (!file || ::fstat(file->get(), &status) != 0 || status.st_size > kLargestHead)
        return std::nullopt;
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    const Result<std::size_t> read = file->read_at(0, bytes, name);
    if (!read || *read != bytes.size())
        return std::nullopt;
    return bytes;
}

std::string random_digits() {
    std::uint32_t random = 0;
    TM_CHECK(::getentropy(&random, sizeof random) == 0);
    return fmt::format("{:08x}", random);
}

Result<void> write_kept_file(const OwnFolder& folder, const std::string& name,
                             std::span<const std::byte> bytes, const std::atomic<bool>* cancelled) {
    const std::string part = name + std::string(kPart) + random_digits();
    const std::string path = folder.path() + "/" + name;
    TM_ASSIGN(const FileDescriptor file, folder.open_file(part, O_WRONLY | O_CREAT));
    const int in = folder.descriptor();
    Result<void> written = write_all(file, bytes, path, cancelled);
    if (written && ::renameat(in, part.c_str(), in, name.c_str()) != 0)
        written = io_error("cannot be renamed to its final name", path);
    if (!written)
        ::unlinkat(in, part.c_str(), 0);
    return written;
}

std::optional<std::vector<std::uint64_t>> checksums_of(
    std::span<const std::span<const std::byte>> columns, const std::atomic<bool>* cancelled) {
    struct Part {
        std::span<const std::byte> bytes;
        std::uint64_t sum = 0;
    };

    std::vector<Part> parts;
    std::vector<std::size_t> ends;  // of each column, among the parts
    for (const std::span<const std::byte> column : columns) {
        for (std::size_t begin = 0; begin < column.size(); begin += kBlock)
            parts.push_back({column.subspan(begin, std::min(kBlock, column.size() - begin))});
        ends.push_back(parts.size());
        if (column.size() > kBlock)
            read_ahead(column);
    }
    const auto work = [&](std::size_t index, unsigned /*thread*/) {
        parts[index].sum = tmk::hash_bytes(parts[index].bytes);
        return !is_set(cancelled);
    };
    if (!parallel_for(parts.size(), parts.size() > kBlocksOfOne ? 0 : 1, work))
        return std::nullopt;
    std::vector<std::uint64_t> sums;
    std::size_t next = 0;
    for (const std::size_t end : ends) {
        tmk::ByteWriter writer;
        for (; next < end; ++next)
            writer.put(parts[next].sum);
        sums.push_back(tmk::hash_bytes(writer.bytes()));
    }
    return sums;
}

}  // namespace tidemark
