// Blocks of host memory, and runs of them.
#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "core/tiers/host/host_blocks.h"
#include "replay/c_api/context.h"
#include "replay/c_api/errors.h"
#include "replay/c_api/tidemark.h"

namespace tidemark::c_api {

// Thread-safe as HostBlocks is.
struct BlocksState {
    std::shared_ptr<ContextState> context;  // whose device has pinned them
    std::unique_ptr<PinnedSource> source;
    std::unique_ptr<HostBlocks> blocks;
};

}  // namespace tidemark::c_api

struct tm_blocks {
    std::shared_ptr<tidemark::c_api::BlocksState> state;
};

struct tm_block_run {
    std::shared_ptr<tidemark::c_api::BlocksState> owner;  // which must not end before the run
    tidemark::BlockRun run;
};

using namespace tidemark;
using namespace tidemark::c_api;

tm_status tm_blocks_open(const tm_blocks_options* given, tm_blocks** blocks) {
    return guarded([&]() -> tm_status {
        if (blocks == nullptr)
            return fail_of_null("tm_blocks_open");
        *blocks = nullptr;
        tm_blocks_options options{};
        if (const tm_status bad = copy_in(given, options); bad != TM_OK)
            return bad;
        if (options.capacity == 0)
            return c_api::fail(
                {ErrorCode::bad_option, "the capacity must not be 0", "capacity", ""});
        auto state = std::make_shared<BlocksState>();
        if (options.gpu != nullptr)
            state->context = options.gpu->state;
        if (state->context && state->context->card() != nullptr)
            state->source = std::make_unique<DevicePinnedSource>(*state->context->card());
        else
            state->source = std::make_unique<PlainSource>();
        HostBlocksSpec spec;
        if (options.block != 0)
            spec.block = options.block;
        if (options.blocks_per_pool != 0)
            spec.blocks_per_pool = options.blocks_per_pool;
        spec.initial_pools = options.initial_pools;
        spec.capacity = options.capacity;
        auto made = HostBlocks::create(*state->source, spec);
        if (!made)
            return c_api::fail(made.error());
        state->blocks = std::move(*made);
        *blocks = new tm_blocks{std::move(state)};
        return TM_OK;
    });
}

tm_status tm_blocks_close(tm_blocks* blocks) {
    return guarded([&] {
        delete blocks;
        return TM_OK;
    });
}

tm_status tm_blocks_alloc(tm_blocks* blocks, uint64_t bytes, tm_block_run** run) {
    return with("tm_blocks_alloc", blocks, {run}, [&](BlocksState& state) -> tm_status {
        *run = nullptr;
        auto taken = state.blocks->allocate(bytes);
        if (taken) {
            *run = new tm_block_run{blocks->state, std::move(*taken)};
            return TM_OK;
        }
        if (taken.error() == BlockRefusal::source) {
            if (const std::optional<Error> why = state.blocks->source_error())
                return c_api::fail(*why);
        }
        return c_api::fail({ErrorCode::no_space, std::string(to_text(taken.error())),
                            "tm_blocks_alloc", "free runs, or open with a larger capacity"});
    });
}

tm_status tm_block_run_pieces(tm_block_run* run, tm_piece* pieces, size_t capacity, size_t* count) {
    return guarded([&]() -> tm_status {
        if (run == nullptr || (pieces == nullptr && capacity != 0))
            return fail_of_null("tm_block_run_pieces");
        const std::size_t all = run->run.blocks();
        for (std::size_t i = 0; i < std::min(capacity, all); ++i) {
            const Range block = run->run.block(i);
            pieces[i] = {to_integer(block.begin), block.size};
        }
        if (count != nullptr)
            *count = all;
        return TM_OK;
    });
}

tm_status tm_block_run_trim(tm_block_run* run, uint64_t bytes) {
    return guarded([&]() -> tm_status {
        if (run == nullptr)
            return fail_of_null("tm_block_run_trim");
        run->run.trim_to(bytes);
        return TM_OK;
    });
}

void tm_block_run_free(tm_block_run* run) {
    delete run;
}

tm_status tm_blocks_trim(tm_blocks* blocks, uint64_t keep, uint64_t* freed) {
    return with("tm_blocks_trim", blocks, {}, [&](BlocksState& state) -> tm_status {
        const Bytes given_back = state.blocks->trim(keep);
        if (freed != nullptr)
            *freed = given_back;
        return TM_OK;
    });
}

tm_status tm_blocks_look(tm_blocks* blocks, tm_blocks_usage* usage) {
    return with("tm_blocks_look", blocks, {}, [&](BlocksState& state) -> tm_status {
        const HostBlocksUsage now = state.blocks->usage();
        tm_blocks_usage all{};
        all.block = state.blocks->block_size();
        all.used = now.used;
        all.free = now.free;
        all.pools = now.pools;
        all.peak = now.peak;
        all.refused = now.refused;
        return copy_out(usage, all);
    });
}
