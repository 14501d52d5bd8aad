// Numbering on first mention.
#include "traces/readers/torch_output.h"

#include <fmt/format.h>

namespace tidemark::torch {

Output::Output(const Records& records, TraceSink& sink, TraceInfo& info)
    : records_(records),
      info_(info),
      sink_(sink),
      contexts_(records.contexts.size()),
      streams_(records.streams.size(), kNone),
      pools_(records.pools.size(), kNone),
      strings_(records.objects().strings.size(), kNone),
      stacks_(records.objects().lists.count(), kNone) {
    streams_[0] = 0;
    pools_[0] = 0;
    strings_[0] = 0;
    info_.streams = {0};
    info_.pools = {"default"};
}

void Output::pass_on() {
    if (size_ == 0)
        return;
    if (status_)
        status_ = sink_.append({batch_.data(), size_});
    last_time_ = batch_[size_ - 1].time;
    passed_on_ += size_;
    size_ = 0;
}

Result<void> Output::flush() {
    pass_on();
    return status_;
}

void Output::resolve(std::uint32_t index) {
    const Context& context = records_.contexts[index];
    contexts_[index] = {stream(context.stream), stack(context.frames), tag(context),
                        pool(context.pool), true};
}

StreamId Output::stream(std::uint32_t index) {
    if (streams_[index] == kNone) {
        streams_[index] = static_cast<std::uint32_t>(info_.streams.size());
        info_.streams.push_back(records_.streams[index]);
    }
    return StreamId{streams_[index]};
}

std::uint32_t Output::pool(std::uint32_t index) {
    if (pools_[index] == kNone) {
        pools_[index] = static_cast<std::uint32_t>(info_.pools.size());
        info_.pools.push_back(
            fmt::format("({}, {})", records_.pools[index].first, records_.pools[index].second));
    }
    return pools_[index];
}

std::uint32_t Output::string(std::uint32_t index) {
    if (index == kNone)
        return 0;
    if (strings_[index] == kNone)
        strings_[index] = info_.strings.intern(records_.objects().strings[index]);
    return strings_[index];
}

std::uint32_t Output::stack(std::uint32_t list) {
    if (list == kNone)
        return 0;
    if (stacks_[list] == kNone) {
        frames_.clear();
        records_.objects().lists.for_each(list, [this](Value value) {
            const Records::Ref ref = records_.ref(value);
            if (ref.kind != Records::Kind::frame)
                return;
            const FrameRecord& frame = records_.frames[ref.index];
            frames_.push_back({string(frame.name), string(frame.file), frame.line});
        });
        stacks_[list] = info_.stacks.intern(frames_);
    }
    return stacks_[list];
}

// The program's own text about itself, and what torch.compile was working on.
std::uint32_t Output::tag(const Context& context) {
    if (context.compile == kNone || context.metadata == kNone)
        return string(context.compile == kNone ? context.metadata : context.compile);
    const StringTable& strings = records_.objects().strings;
    return info_.strings.intern(
        fmt::format("{} | {}", strings[context.metadata], strings[context.compile]));
}

}  // namespace tidemark::torch
