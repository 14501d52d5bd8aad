// What a reader accepted, in every view of the viewer.
#include "tests/fuzz/answer_all.h"
#include "tests/fuzz/draw_all.h"
#include "tests/fuzz/targets.h"
#include "tests/support/file_in_memory.h"

namespace tidemark::fuzz {

void views(std::span<const std::byte> bytes) {
    if (is_quick(bytes))
        draw_all(support::FileInMemory(bytes).path(), true);
}

}  // namespace tidemark::fuzz
