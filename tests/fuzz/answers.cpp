// What a reader accepted, in every command's words.
#include <algorithm>
#include <array>

#include "tests/fuzz/answer_all.h"
#include "tests/fuzz/targets.h"
#include "tests/support/file_in_memory.h"

namespace tidemark::fuzz {
namespace {

constexpr std::size_t kLongest = 32'768;  // bytes: so many can't make a trace of minutes

// A few compressed bytes may stand for many events: the decoders have a target of their own.
bool compressed(std::span<const std::byte> bytes) {
    constexpr std::array kBeginnings{0x1f, 0x28, 0xfd, 0x42};  // gzip, zstd, xz, bzip2
    return !bytes.empty() &&
           std::ranges::find(kBeginnings, std::to_integer<int>(bytes[0])) != kBeginnings.end();
}

}  // namespace

void answers(std::span<const std::byte> bytes) {
    if (bytes.size() > kLongest || compressed(bytes))
        return;
    ReadOptions options;
    options.lenient = true;
    answer(support::FileInMemory(bytes).path(), options, Commands::all);
}

}  // namespace tidemark::fuzz
