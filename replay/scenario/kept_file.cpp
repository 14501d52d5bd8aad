// kept_file: heads with a checksum in front, and checksums of columns.
#include "replay/scenario/kept_file.h"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace tidemark {
namespace {

constexpr std::size_t kChecked = std::size_t{1} << 18U;  // bytes at each end of a column
constexpr std::uintmax_t kLargestHead = std::uintmax_t{1} << 30U;

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

std::optional<std::vector<std::byte>> read_kept_head(const std::filesystem::path& path) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error || size > kLargestHead)
        return std::nullopt;
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file)
        return std::nullopt;
    return bytes;
}

std::uint64_t checksum_of_ends(std::span<const std::byte> column) {
    if (column.size() <= 2 * kChecked)
        return tmk::hash_bytes(column);
    return tmk::hash_bytes(column.first(kChecked)) ^ ~tmk::hash_bytes(column.last(kChecked));
}

}  // namespace tidemark
