// A launch is a series of uses on one stream with the same number.
#include "replay/report/export/chrome_launches.h"

#include <algorithm>

#include <fmt/format.h>

namespace tidemark::report {

void ChromeLaunches::add(const TraceEvent& event) {
    const std::size_t stream = to_integer(event.stream);
    if (stream >= open_.size())
        return;
    const bool is_use = event.kind == EventKind::use;
    Launch& launch = open_[stream];
    if (launch.open && (!is_use || launch.number != event.aux))
        end_launch(stream, event.time);
    if (!is_use)
        return;
    if (!launch.open)
        begin_launch(event);
    const bool touches = (event.flags & (kReads | kWrites)) != 0;
    const bool perhaps = (event.flags & kPerhaps) != 0;
    launch.blocks += touches ? 1U : 0U;
    launch.possible += touches && perhaps ? 1U : 0U;
    launch.unknown = launch.unknown || (!touches && perhaps);
}

void ChromeLaunches::begin_launch(const TraceEvent& event) {
    Launch& launch = open_[to_integer(event.stream)];
    launch = {.open = true,
              .device = std::min<std::size_t>(event.device, info_.devices.size() - 1),
              .number = event.aux,
              .tag = event.tag,
              .begin = event.time};
}

void ChromeLaunches::end_launch(std::size_t stream, Nanoseconds time) {
    Launch& launch = open_[stream];
    launch.open = false;
    const std::size_t thread = kFirstStreamThread + stream;
    if (!devices_[stream]) {
        devices_[stream] = launch.device;
        name_thread(launch.device, thread, "launches of", stream);
    }
    const std::string_view tag = info_.strings[launch.tag];
    entries_.add_slice(
        *devices_[stream], launch.begin, time,
        fmt::format(R"(,"tid":{},"name":{},"args":{{"launch":{},"blocks":{}{}}})", thread,
                    json_text(tag.empty() ? "launch" : tag), launch.number,
                    launch.unknown ? R"("unknown")" : std::to_string(launch.blocks),
                    launch.possible == 0 ? "" : fmt::format(R"(,"possible":{})", launch.possible)));
}

void ChromeLaunches::name_thread(std::size_t device, std::size_t thread, std::string_view what,
                                 std::size_t stream) {
    entries_.add('M', device, 0,
                 fmt::format(R"(,"tid":{},"name":"thread_name","args":{{"name":"{} stream {}"}})",
                             thread, what, info_.streams[stream]));
}

void ChromeLaunches::add_execution(const TraceEvent& event) {
    const std::size_t stream = to_integer(event.stream);
    if (stream >= open_.size())
        return;
    // Behind those of launches.
    const std::size_t thread = kFirstStreamThread + open_.size() + stream;
    std::optional<std::size_t>& device = execution_devices_[stream];
    if (!device) {
        device = std::min<std::size_t>(event.device, info_.devices.size() - 1);
        name_thread(*device, thread, "executions of", stream);
    }
    const std::string_view tag = info_.strings[event.tag];
    const auto begin = static_cast<Nanoseconds>(event.address);
    entries_.add_slice(*device, begin, static_cast<Nanoseconds>(event.address + event.size),
                       fmt::format(R"(,"tid":{},"name":{},"args":{{"launch":{}}})", thread,
                                   json_text(tag.empty() ? "launch" : tag), event.aux));
}

void ChromeLaunches::end(Nanoseconds time) {
    for (std::size_t stream = 0; stream < open_.size(); ++stream)
        if (open_[stream].open)
            end_launch(stream, time);
}

}  // namespace tidemark::report
