// .tmk files of any bytes: what opens can be read to its end without leaving its own tables, gives
// the same twice, and says how much it holds.
#include "traces/tmk/tmk.h"

#include <cstring>
#include <vector>

#include "core/base/check.h"
#include "tests/fuzz/targets.h"
#include "traces/tmk/wire.h"

namespace tidemark::fuzz {
namespace {

// A chunk's few bytes may stand for many events.
constexpr std::uint64_t kEnough = 2'000'000;

void check_event(const TraceInfo& info, const TraceEvent& event) {
    TM_CHECK(event.slot == kNoSlot || event.slot < info.slot_count);
    TM_CHECK(to_integer(event.stream) < info.streams.size());
    TM_CHECK(event.device < info.devices.size());
    TM_CHECK(event.stack < info.stacks.size());
    TM_CHECK(event.tag < info.strings.size());
    if (event.kind == EventKind::range_begin || event.kind == EventKind::range_end ||
        event.kind == EventKind::mark)
        TM_CHECK(event.aux < info.strings.size());
}

void check_info(const TraceInfo& info) {
    TM_CHECK(!info.devices.empty() && !info.streams.empty());
    TM_CHECK(info.slot_count <= info.event_count && info.preamble_count <= info.event_count);
    for (std::uint32_t stack = 0; stack < info.stacks.size(); ++stack) {
        for (const Frame& frame : info.stacks[stack])
            TM_CHECK(frame.name < info.strings.size() && frame.file < info.strings.size());
    }
}

// Events up to the end or the first error; all of them if the whole trace can be read.
std::uint64_t read_all(const Trace& trace, TraceCursor& cursor, bool& whole) {
    std::uint64_t count = 0;
    whole = false;
    while (count < kEnough) {
        const auto batch = cursor.next();
        if (!batch) {
            TM_CHECK(!batch.error().what.empty() && !batch.error().where.empty());
            return count;
        }
        if (batch->count == 0) {
            whole = true;
            return count;
        }
        for (std::size_t i = 0; i < batch->count; ++i)
            check_event(trace.info(), (*batch)[i]);
        count += batch->count;
    }
    return count;
}

}  // namespace

void tmk(std::span<const std::byte> bytes) {
    const auto trace = open_tmk({bytes.begin(), bytes.end()}, "input");
    if (!trace) {
        TM_CHECK(!trace.error().what.empty() && !trace.error().where.empty());
        return;
    }
    const TraceInfo& info = (*trace)->info();
    check_info(info);
    bool whole = false;
    const std::uint64_t count = read_all(**trace, *(*trace)->cursor(), whole);
    TM_CHECK(!whole || count == info.event_count);
    TM_CHECK(count <= info.event_count);
    bool whole_again = false;
    TM_CHECK(read_all(**trace, *(*trace)->cursor(), whole_again) == count);
}

void repair_tmk(std::span<std::byte> file) {
    using namespace tidemark::tmk;
    std::uint64_t offset = kHeaderSize;
    std::uint64_t index = 0;
    for (;;) {
        const FoundBlock found = find_block(file, offset);
        if (!found.whole)
            break;
        const std::uint64_t checksum =
            hash_bytes(file.subspan(offset + sizeof offset, found.block.size - sizeof offset));
        std::memcpy(file.data() + offset, &checksum, sizeof checksum);
        index = found.block.kind == BlockKind::index ? offset : index;
        offset += found.block.size;
    }
    if (index != 0 && file.size() - offset == kTrailerSize)
        std::memcpy(file.data() + offset, &index, sizeof index);
}

}  // namespace tidemark::fuzz
