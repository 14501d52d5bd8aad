// Heads of what is kept in the cache, of any bytes: of a history, and of its fragmentation. What
// is taken for one is what would be written again; no column is opened, there are none.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/check.h"
#include "replay/scenario/history_head.h"
#include "replay/scenario/kept_fragmentation.h"
#include "replay/timeline/history_columns.h"
#include "tests/fuzz/targets.h"
#include "tests/support/test_folder.h"
#include "traces/tmk/wire.h"

namespace tidemark::fuzz {
namespace {

constexpr std::size_t kChecksumAt = 8;
constexpr std::size_t kCheckedFrom = 16;

void check_heads(std::span<const std::byte> bytes) {
    if (const auto head = decode_fragmentation_head(bytes))
        TM_CHECK(std::ranges::equal(encode_fragmentation_head(*head), bytes));
    const auto summary = summary_of_head(bytes);
    // A head is read under its own key, so that the key is not what it fails by.
    tmk::ByteReader reader(bytes.subspan(std::min(kCheckedFrom, bytes.size())));
    static_cast<void>(reader.get<std::uint32_t>());  // the format
    HistoryKey key;
    key.trace_hash = reader.get<std::uint64_t>();
    key.file_hash = reader.get<std::uint64_t>();
    key.scenario = std::string(reader.get_text());
    TM_CHECK(!summary || key.trace_hash == summary->trace_hash);
    static const support::TestFolder without_columns;
    static const Result<OwnFolder> folder = OwnFolder::open(without_columns.path());
    History::Columns columns;
    Run run;
    TM_CHECK(!read_history(bytes, *folder, key, columns, run));
}

}  // namespace

void kept_heads(std::span<const std::byte> bytes) {
    check_heads(bytes);
    if (bytes.size() <= kCheckedFrom)
        return;
    std::vector<std::byte> whole(bytes.begin(), bytes.end());  // with the right checksum
    const std::uint64_t sum = tmk::hash_bytes(std::span(whole).subspan(kCheckedFrom));
    std::memcpy(whole.data() + kChecksumAt, &sum, sizeof sum);
    check_heads(whole);
}

}  // namespace tidemark::fuzz
