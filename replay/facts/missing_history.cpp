// The two lines of each system.
#include "replay/facts/missing_history.h"

namespace tidemark::facts {

std::string how_to_record(const TraceInfo& info) {
    if (info.from_torch())
        return "record one: call torch.cuda.memory._record_memory_history(max_entries=1000000) "
               "where the program starts, and "
               "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") where it ends or runs out of "
               "memory";
    return "record one: tidemark record -o run.tml -- PROGRAM";
}

Result<void> need_history(const TraceInfo& info) {
    if (!info.is_state())
        return {};
    return fail(
        ErrorCode::unsupported,
        "the file has no history: it holds the state at one moment, which can't be replayed", {},
        how_to_record(info) + "; `tidemark advise` shows what the state holds");
}

}  // namespace tidemark::facts
