// What a reader accepted, in every command's text.
#include "tests/fuzz/answer_all.h"
#include "tests/fuzz/targets.h"
#include "tests/support/file_in_memory.h"

namespace tidemark::fuzz {

void answers(std::span<const std::byte> bytes) {
    if (!is_quick(bytes))
        return;
    ReadOptions options;
    options.lenient = true;
    answer(support::FileInMemory(bytes).path(), options, Commands::all);
}

}  // namespace tidemark::fuzz
