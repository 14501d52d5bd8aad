// Merging by id and revision.
#include "traces/notes/note.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

#include <fmt/format.h>
#include <sys/random.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

// What is later is greater.
auto rank_of(const Note& note) {
    return std::tie(note.revision, note.removed, note.name, note.text, note.axis, note.begin,
                    note.end, note.block, note.trace_hash);
}

}  // namespace

std::string new_note_id() {
    std::array<std::uint64_t, 2> random{};
    TM_CHECK(::getrandom(random.data(), sizeof random, 0) == sizeof random);
    return fmt::format("{:016x}{:016x}", random[0], random[1]);
}

std::vector<Note> merged_notes(std::vector<Note> first, std::vector<Note> second) {
    std::move(second.begin(), second.end(), std::back_inserter(first));
    std::ranges::sort(first, [](const Note& a, const Note& b) {
        return a.id != b.id ? a.id < b.id : rank_of(a) > rank_of(b);
    });
    const auto same = std::ranges::unique(first, {}, &Note::id);
    first.erase(same.begin(), same.end());
    return first;
}

}  // namespace tidemark
