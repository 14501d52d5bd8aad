// Buffers of seeded bytes.
#include "tests/support/disk_content.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/random.h"

namespace tidemark::support {

std::vector<std::byte> content_of(std::uint64_t seed, Bytes size) {
    Random random(seed);
    std::vector<std::byte> content(size);
    for (std::size_t at = 0; at < content.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t word = random.next();
        std::memcpy(content.data() + at, &word, std::min(sizeof word, content.size() - at));
    }
    return content;
}

Result<void> store(DiskStore& store, BufferId id, const std::vector<std::byte>& content) {
    const std::array<std::span<const std::byte>, 1> sources{content};
    return store.write(id, sources);
}

Result<std::vector<std::byte>> load(DiskStore& store, BufferId id) {
    std::vector<std::byte> content(store.size(id).value_or(0));
    const std::array<std::span<std::byte>, 1> targets{content};
    TM_TRY(store.read(id, targets));
    return content;
}

std::string difference(DiskStore& store, BufferId id, const std::vector<std::byte>& expected) {
    const Result<std::vector<std::byte>> content = load(store, id);
    if (!content)
        return to_text(content.error());
    if (content->size() != expected.size())
        return "another size";
    return *content == expected ? "" : "other content";
}

DiskStoreOptions small_options(const std::vector<std::string>& directories) {
    DiskStoreOptions options;
    options.directories = directories;
    options.chunk = 2 * kFileBlock;
    options.depth = 3;
    options.workers = 1;
    return options;
}

}  // namespace tidemark::support
