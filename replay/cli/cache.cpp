// tidemark cache: what the viewer keeps of the traces that it has replayed, and deleting it.
#include <algorithm>

#include "replay/cli/command.h"
#include "replay/report/runs/cache_report.h"
#include "replay/scenario/kept_file.h"
#include "traces/live/clock.h"

namespace tidemark::commands {
namespace {

CachedHistory look_at(const OwnFolder& cache, CacheEntry entry) {
    CachedHistory history{.entry = std::move(entry), .head = {}};
    if (const auto folder = cache.open_folder(history.entry.name); folder)
        if (const auto head = read_kept_head(*folder, kHeadFile))
            history.head = summary_of_head(*head);
    history.age = std::max<Nanoseconds>(live::unix_now() - history.entry.used, 0);
    return history;
}

class Cache final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.flag({"--clear", "", "delete all of it"}, clears_);
        arguments.report(json_);
    }

    Result<ExitCode> run(Context& context) override {
        CacheContent content;
        TM_ASSIGN(content.folder, cache_folder());
        const Result<OwnFolder> cache = OwnFolder::open(content.folder);
        if (!cache && cache.error().code != ErrorCode::not_found)
            return tl::make_unexpected(cache.error());
        if (cache)
            for (CacheEntry& entry : list_cache(*cache))
                content.histories.push_back(look_at(*cache, std::move(entry)));
        TM_ASSIGN(content.limit, cache_limit(cache ? &*cache : nullptr, content.bytes()));
        if (clears_)
            content.cleared = cache ? clear_cache(*cache) : ClearedCache{};
        context.print(json_ ? cache_json(content, context.provenance()) : cache_text(content));
        return ExitCode::yes;
    }

  private:
    bool clears_ = false;
    bool json_ = false;
};

}  // namespace

CommandInfo cache_command() {
    return {
        .name = "cache",
        .summary = "list the viewer's cache of opened traces, or delete it",
        .examples =
            "  tidemark cache\n"
            "  tidemark cache --clear                         delete all of it; traces stay\n"
            "  tidemark cache --json | jq '.entries[] | {trace, bytes}'\n"
            "  TIDEMARK_CACHE_LIMIT=40GiB tidemark view run.tmk     keep more than 10 GiB\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Cache>(); },
        .tables = "entries",
    };
}

}  // namespace tidemark::commands
