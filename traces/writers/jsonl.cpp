// jsonl: a trace in our interchange format. Reading the result gives the same program: every event
// that is not truth, in the same order, with its stack, tag, pool and address.
//
// Ids count allocations. What the format cannot express is written with keys that others may
// ignore: `preamble` (live before the first event), `pending` on a free (the device may still use
// it), a mark of `kind` "finish" (now it has finished) or "trim" (the caches were emptied),
// `device_free` on an oom; in the header `streams`, `pools`, `devices`, `settings` and
// `start_time`. A frame becomes the text "name file:line". Bytes that are not UTF-8 become U+FFFD.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "traces/writers/text_output.h"
#include "traces/writers/writer.h"

namespace tidemark::writers {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kNoId = UINT64_MAX;

std::string in_quotes(std::string_view text) {
    return printable_json(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
}

// The texts of a table, made at their first use.
class Texts {
  public:
    explicit Texts(std::size_t size) : texts_(size) {}

    template <class Make>
    std::string_view get(std::uint32_t index, Make make) {
        if (index >= texts_.size())
            return "\"\"";
        if (texts_[index].empty())
            texts_[index] = make();
        return texts_[index];
    }

  private:
    std::vector<std::string> texts_;
};

class JsonlWriter {
  public:
    JsonlWriter(const Trace& trace, OutputFile& file)
        : trace_(trace),
          info_(trace.info()),
          out_(file),
          strings_(info_.strings.size()),
          stacks_(info_.stacks.size()),
          ids_(info_.slot_count, kNoId) {}

    Result<WriteSummary> write();

  private:
    void write_header();
    Result<void> write_event(const TraceEvent& event);
    bool write_about_slot(const TraceEvent& event);
    void write_allocate(const TraceEvent& event, std::string_view tier);
    void write_other(const TraceEvent& event);
    void begin_line(const TraceEvent& event, std::string_view op);
    void end_line(const TraceEvent& event);
    std::string_view string(std::uint32_t index);
    std::string_view stack(std::uint32_t index);

    const Trace& trace_;
    const TraceInfo& info_;
    TextOutput out_;
    Texts strings_;                   // in quotes, by index
    Texts stacks_;                    // as JSON lists, by index
    std::vector<std::uint64_t> ids_;  // by slot
    std::uint64_t next_id_ = 0;
    std::uint64_t open_pools_ = 0;
    WriteSummary summary_;
};

std::string_view tier_of(std::uint8_t flags) {
    constexpr std::array<std::string_view, 4> kTiers{"gpu", "host", "disk", "disk"};
    return kTiers[(flags & kTierMask) >> 4U];
}

std::string_view mode_of(std::uint8_t flags) {
    if ((flags & kWrites) == 0)
        return "r";
    return (flags & kReads) == 0 ? "w" : "rw";
}

void JsonlWriter::write_header() {
    // Built as text, so that the keys that matter come first.
    std::string line = R"({"type":"header","version":1,"unit":"ns")";
    const auto put = [&line](std::string_view key, const std::string& json) {
        line += fmt::format(",{}:{}", in_quotes(key), json);
    };
    const auto dump = [](const Json& json) {
        return printable_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
    };
    if (!info_.source.empty())
        put("source", in_quotes(info_.source));
    if (!info_.devices.empty() && !info_.devices[0].name.empty())
        put("device", in_quotes(info_.devices[0].name));
    constexpr std::array<std::string_view, 10> kReserved{
        "type",    "version", "unit",  "source",   "device",
        "devices", "streams", "pools", "settings", "start_time"};
    Json metadata = Json::object();  // a key given twice counts once
    for (const auto& [key, value] : info_.metadata) {
        if (std::find(kReserved.begin(), kReserved.end(), key) == kReserved.end())
            metadata[key] = value;
    }
    for (const auto& [key, value] : metadata.items())
        put(key, dump(value));
    if (info_.start_time > 0)
        put("start_time", fmt::format("{}", info_.start_time));
    Json devices = Json::array();
    for (const TraceDevice& device : info_.devices)
        devices.push_back({{"name", device.name}, {"total_memory", device.total_memory}});
    put("devices", dump(devices));
    if (info_.streams.size() > 1)
        put("streams", dump(info_.streams));
    if (info_.pools.size() > 1)
        put("pools", dump(info_.pools));
    Json settings = Json::object();
    for (const auto& [key, value] : info_.settings)
        settings[key] = value;
    if (!settings.empty())
        put("settings", dump(settings));
    out_.append(line);
    out_.append("}\n");
}

Result<WriteSummary> JsonlWriter::write() {
    write_header();
    const auto cursor = trace_.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count; ++i)
            TM_TRY(write_event(batch[i]));
    }
    TM_TRY(out_.flush());
    return summary_;
}

Result<void> JsonlWriter::write_event(const TraceEvent& event) {
    if (is_truth(event.kind)) {
        ++summary_.left_out_truth;
        return {};
    }
    switch (event.kind) {
        case EventKind::allocate:
        case EventKind::free:
        case EventKind::retire:
        case EventKind::finish:
        case EventKind::use:
        case EventKind::record_use:
        case EventKind::move:
            if (!write_about_slot(event)) {
                ++summary_.left_out_events;
                return {};
            }
            break;
        default:
            write_other(event);
    }
    ++summary_.written;
    return out_.spill();
}

void JsonlWriter::begin_line(const TraceEvent& event, std::string_view op) {
    out_.print(FMT_COMPILE("{{\"t\":{},\"op\":\"{}\""), event.time, op);
}

// The keys that every event may have.
void JsonlWriter::end_line(const TraceEvent& event) {
    if (event.device != 0)
        out_.print(FMT_COMPILE(",\"device\":{}"), event.device);
    if (event.address != 0 && event.kind != EventKind::out_of_memory)
        out_.print(FMT_COMPILE(",\"address\":{}"), event.address);
    if (event.tag != 0)
        out_.print(FMT_COMPILE(",\"tag\":{}"), string(event.tag));
    if (event.stack != 0)
        out_.print(FMT_COMPILE(",\"stack\":{}"), stack(event.stack));
    if ((event.flags & kPreamble) != 0)
        out_.append(",\"preamble\":true");
    out_.append("}\n");
}

void JsonlWriter::write_allocate(const TraceEvent& event, std::string_view tier) {
    begin_line(event, "alloc");
    out_.print(FMT_COMPILE(",\"id\":{},\"bytes\":{},\"stream\":{}"), ids_[event.slot], event.size,
               to_integer(event.stream));
    if (tier != "gpu")
        out_.print(FMT_COMPILE(",\"tier\":\"{}\""), tier);
    if (event.aux != 0 || open_pools_ != 0)
        out_.print(FMT_COMPILE(",\"pool\":{}"), event.aux);
    end_line(event);
}

// False if the event is about an allocation that the trace never introduced.
bool JsonlWriter::write_about_slot(const TraceEvent& event) {
    if (event.slot >= ids_.size())
        return false;
    std::uint64_t& id = ids_[event.slot];
    const std::uint32_t stream = to_integer(event.stream);
    if (event.kind == EventKind::allocate) {
        if (id != kNoId)
            out_.print(FMT_COMPILE("{{\"t\":{},\"op\":\"free\",\"id\":{},\"stream\":{}}}\n"),
                       event.time, id, stream);
        id = next_id_++;
        write_allocate(event, tier_of(event.flags));
        return true;
    }
    if (id == kNoId)
        return false;
    const bool ends = event.kind == EventKind::free || event.kind == EventKind::finish;
    switch (event.kind) {
        case EventKind::free:
        case EventKind::retire:
            begin_line(event, "free");
            break;
        case EventKind::finish:
            begin_line(event, "mark");
            out_.append(",\"name\":\"finish\",\"kind\":\"finish\"");
            break;
        case EventKind::use:
            begin_line(event, "use");
            out_.print(FMT_COMPILE(",\"mode\":\"{}\",\"kernel\":{}"), mode_of(event.flags),
                       event.aux);
            break;
        case EventKind::record_use:
            begin_line(event, "record_use");
            break;
        default:
            begin_line(event, "move");
            out_.print(FMT_COMPILE(",\"to\":\"{}\""), tier_of(event.flags));
    }
    out_.print(FMT_COMPILE(",\"id\":{},\"stream\":{}"), id, stream);
    if (event.kind == EventKind::retire)
        out_.append(",\"pending\":true");
    end_line(event);
    if (ends)
        id = kNoId;
    return true;
}

void JsonlWriter::write_other(const TraceEvent& event) {
    const bool whole_device =
        event.kind == EventKind::synchronize && (event.flags & kWholeDevice) != 0;
    const auto with_number = [&](std::string_view op, std::string_view key) {
        begin_line(event, op);
        out_.print(FMT_COMPILE(",\"{}\":{}"), key, event.aux);
    };
    const auto with_name = [&](std::string_view op) {
        begin_line(event, op);
        out_.print(FMT_COMPILE(",\"name\":{}"), string(event.aux));
    };
    switch (event.kind) {
        case EventKind::record_event:
            with_number("event", "event");
            break;
        case EventKind::wait_event:
            with_number("wait", "event");
            break;
        case EventKind::synchronize:
            begin_line(event, "sync");
            break;
        case EventKind::range_begin:
            with_name("begin");
            break;
        case EventKind::range_end:
            with_name("end");
            break;
        case EventKind::mark:
            with_name("mark");
            break;
        case EventKind::pool_begin:
            with_number("pool_begin", "pool");
            ++open_pools_;
            break;
        case EventKind::pool_end:
            with_number("pool_end", "pool");
            open_pools_ -= open_pools_ != 0 ? 1 : 0;
            break;
        case EventKind::reserve:
        case EventKind::release:
            with_number(event.kind == EventKind::reserve ? "reserve" : "release", "task");
            out_.print(FMT_COMPILE(",\"bytes\":{},\"tier\":\"{}{}{}{}\""), event.size,
                       tier_of(event.flags), (event.flags & kOrDevice) != 0 ? ",gpu" : "",
                       (event.flags & kOrHost) != 0 ? ",host" : "",
                       (event.flags & kOrDisk) != 0 ? ",disk" : "");
            break;
        case EventKind::out_of_memory:
            begin_line(event, "oom");
            out_.print(FMT_COMPILE(",\"bytes\":{},\"device_free\":{}"), event.size, event.address);
            break;
        default:
            begin_line(event, "mark");
            out_.append(",\"name\":\"trim\",\"kind\":\"trim\"");
    }
    if (!whole_device)
        out_.print(FMT_COMPILE(",\"stream\":{}"), to_integer(event.stream));
    end_line(event);
}

std::string_view JsonlWriter::string(std::uint32_t index) {
    return strings_.get(index, [this, index] { return in_quotes(info_.strings[index]); });
}

std::string_view JsonlWriter::stack(std::uint32_t index) {
    return stacks_.get(index, [this, index] {
        std::string list = "[";
        for (const Frame& frame : info_.stacks[index]) {
            std::string text(info_.strings[frame.name]);
            if (frame.file != 0)
                text += fmt::format(" {}:{}", info_.strings[frame.file], frame.line);
            list += list.size() > 1 ? "," : "";
            list += in_quotes(text);
        }
        return list + "]";
    });
}

Result<WriteSummary> write_jsonl(const Trace& trace, OutputFile& output) {
    return JsonlWriter(trace, output).write();
}

}  // namespace

WriterInfo jsonl() {
    return {"jsonl", ".jsonl", "one JSON object per line: everything that the program did",
            write_jsonl};
}

}  // namespace tidemark::writers
