// torch-profiler: the Chrome trace that torch.profiler writes with profile_memory=True
// (export_chrome_trace, tensorboard_trace_handler), compressed or not. The reader uses only the
// instant events "[memory]" and "[OutOfMemory]". Their args are, as PyTorch's profiler_kineto.cpp
// and Kineto's output_json.cpp write them:
//
//   "Device Type": 1, "Device Id": 0, "Addr": 139637976727552, "Bytes": 512, ...
//
// Bytes below 0 are a free. Times are microseconds since baseTimeNanoseconds (ns since 1970; old
// versions have none, and times since 1970). Device types are those of c10: 0 is the host, whose
// memory is left out. A warning names what the profiler doesn't record: streams, call stacks, and
// the requested sizes before the allocator rounded them up.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "traces/readers/address_events.h"
#include "traces/readers/format.h"
#include "traces/readers/json_bytes.h"

namespace tidemark::formats {
namespace {

using ProfileJson = nlohmann::json;

constexpr std::string_view kHowToProfile =
    "record it with torch.profiler.profile(profile_memory=True), or rather the allocator's own "
    "history, which says more: torch.cuda.memory._record_memory_history()";
constexpr std::int64_t kMostDevices = 256;
constexpr Nanoseconds kSomeTimeAgo = 1'000'000'000'000'000'000;  // 2001, as ns since 1970
constexpr Nanoseconds kLatestProfiled = std::numeric_limits<Nanoseconds>::max() / 4;

// Microseconds with up to three decimals, exactly; false: out of range.
bool parse_microseconds(std::string_view text, double value, Nanoseconds& time) {
    if (!(value >= 0 && value < static_cast<double>(kLatestProfiled) / 1000))
        return false;
    if (text.find_first_not_of("0123456789.") != std::string_view::npos) {  // an exponent
        time = static_cast<Nanoseconds>(std::llround(value * 1000));
        return true;
    }
    const std::size_t dot = std::min(text.find('.'), text.size());
    time = 0;
    for (const char digit : text.substr(0, dot))
        time = time * 10 + (digit - '0');
    for (std::size_t i = 1; i <= 3; ++i)
        time = time * 10 + (dot + i < text.size() ? text[dot + i] - '0' : 0);
    return true;
}

// The fields of an object of traceEvents that matter here.
struct ProfiledEvent {
    bool memory = false;
    bool refused = false;
    bool bad = false;  // a number that is malformed or out of range
    std::optional<Nanoseconds> time;
    std::optional<std::int64_t> bytes;
    std::optional<std::uint64_t> address;
    std::optional<std::int64_t> device_type;
    std::optional<std::int64_t> device;
};

// Follows the parser: which object of which list, under which key.
class ProfileHandler final : public nlohmann::json_sax<ProfileJson> {
  public:
    explicit ProfileHandler(const ReadOptions& options) : options_(options) {}

    bool null() override { return true; }

    bool boolean(bool /*value*/) override { return true; }

    bool number_integer(number_integer_t value) override { return whole(value, false, 0); }

    bool number_unsigned(number_unsigned_t value) override {
        const bool fits = value <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
        return whole(fits ? static_cast<std::int64_t>(value) : -1, !fits, value);
    }

    bool number_float(number_float_t value, const string_t& text) override {
        if (!in_event() || key_ != "ts")
            return true;
        Nanoseconds time = 0;
        event_.bad = event_.bad || !parse_microseconds(text, value, time);
        event_.time = time;
        return true;
    }

    bool string(string_t& value) override {
        if (in_event() && key_ == "name") {
            event_.refused = value == "[OutOfMemory]";
            event_.memory = value == "[memory]" || event_.refused;
        } else if (in_device() && key_ == "name" && device_ < devices_.size()) {
            devices_[device_].name = value.substr(0, 256);
        }
        return true;
    }

    bool binary(binary_t& /*value*/) override { return true; }

    bool start_object(std::size_t /*size*/) override {
        ++depth_;
        if (depth_ == 3 && section_ == Section::events)
            event_ = {};
        if (depth_ == 3 && section_ == Section::devices)
            device_ = devices_.size();
        in_args_ = depth_ == 4 && section_ == Section::events && key_ == "args";
        return true;
    }

    bool key(string_t& value) override {
        key_ = value.size() <= kLongestKey ? value : string_t();
        return true;
    }

    bool end_object() override {
        if (depth_ == 3 && section_ == Section::events && !end_event())
            return false;
        --depth_;
        in_args_ = false;
        return true;
    }

    bool start_array(std::size_t /*size*/) override {
        ++depth_;
        if (depth_ == 2) {
            section_ = key_ == "traceEvents"        ? Section::events
                       : key_ == "deviceProperties" ? Section::devices
                                                    : Section::none;
            found_events_ = found_events_ || section_ == Section::events;
        }
        return true;
    }

    bool end_array() override {
        if (depth_ == 2)
            section_ = Section::none;
        --depth_;
        return true;
    }

    bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                     const nlohmann::detail::exception& /*error*/) override {
        return false;
    }

    // "" = no event was refused.
    const std::string& refusal() const { return refusal_; }

    bool found_events() const { return found_events_; }

    std::vector<AddressEvent> take_events() { return std::move(events_); }

    const std::vector<TraceDevice>& devices() const { return devices_; }

    Nanoseconds base_time() const { return base_time_; }

    std::uint64_t on_host() const { return on_host_; }

    std::uint64_t bad() const { return bad_; }

  private:
    static constexpr std::size_t kLongestKey = 64;

    enum class Section : std::uint8_t { none, events, devices };

    bool in_event() const { return depth_ == 3 && section_ == Section::events; }

    bool in_device() const { return depth_ == 3 && section_ == Section::devices; }

    bool whole(std::int64_t value, bool wide, std::uint64_t wide_value) {
        if (in_event() && key_ == "ts") {
            event_.bad = event_.bad || value < 0 || value > kLatestProfiled / 1000;
            event_.time = event_.bad ? 0 : value * 1000;
        } else if (in_args_) {
            if (key_ == "Addr")
                event_.address = wide ? wide_value : static_cast<std::uint64_t>(value);
            else
                describe_event(value, wide);
        } else if (in_device() && !wide && value >= 0) {
            describe_device(value);
        } else if (depth_ == 1 && key_ == "baseTimeNanoseconds" && value > 0 &&
                   value < kLatestProfiled) {
            base_time_ = value;
        }
        return true;
    }

    void describe_event(std::int64_t value, bool wide) {
        std::optional<std::int64_t>* const field = key_ == "Bytes"         ? &event_.bytes
                                                   : key_ == "Device Type" ? &event_.device_type
                                                   : key_ == "Device Id"   ? &event_.device
                                                                           : nullptr;
        if (field == nullptr)
            return;
        *field = value;
        event_.bad = event_.bad || wide;
    }

    void describe_device(std::int64_t value) {
        if (key_ == "id" && value < kMostDevices) {
            device_ = static_cast<std::size_t>(value);
            devices_.resize(std::max(devices_.size(), device_ + 1));
        } else if (key_ == "totalGlobalMem" && device_ < devices_.size()) {
            devices_[device_].total_memory = static_cast<Bytes>(value);
        }
    }

    bool end_event() {
        if (!event_.memory)
            return true;
        if (event_.device_type == 0) {
            ++on_host_;
            return true;
        }
        const std::int64_t device = event_.device.value_or(0);
        const bool whole = event_.time && event_.bytes && event_.device_type && !event_.bad &&
                           device >= 0 && device < kMostDevices &&
                           (event_.address || event_.refused);
        if (!whole || event_.bytes == std::numeric_limits<std::int64_t>::min()) {
            ++bad_;
            if (options_.lenient)
                return true;
            refusal_ = event_.address || event_.refused
                           ? "a [memory] event without a valid time, Bytes, or device"
                           : "a [memory] event without Addr, as PyTorch wrote before 1.10";
            return false;
        }
        AddressEvent made{.time = *event_.time,
                          .address = event_.address.value_or(0),
                          .device = static_cast<std::uint16_t>(device)};
        made.kind = event_.refused       ? EventKind::out_of_memory
                    : *event_.bytes >= 0 ? EventKind::allocate
                                         : EventKind::free;
        made.size = static_cast<Bytes>(std::abs(*event_.bytes));
        if (event_.refused)
            made.address = 0;
        events_.push_back(made);
        return true;
    }

    const ReadOptions& options_;
    std::size_t depth_ = 0;
    Section section_ = Section::none;
    bool in_args_ = false;
    bool found_events_ = false;
    std::string key_;
    ProfiledEvent event_;
    std::size_t device_ = 0;
    std::vector<AddressEvent> events_;
    std::vector<TraceDevice> devices_;
    Nanoseconds base_time_ = 0;
    std::uint64_t on_host_ = 0;
    std::uint64_t bad_ = 0;
    std::string refusal_;
};

bool recognise_profile(std::span<const std::byte> head) {
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    return begin != std::string_view::npos && text[begin] == '{' &&
           (text.find("\"traceEvents\"") != std::string_view::npos ||
            (text.find("\"schemaVersion\"") != std::string_view::npos &&
             text.find("\"deviceProperties\"") != std::string_view::npos));
}

Result<void> check_profile(const ByteSource& source, const JsonBytes& bytes,
                           const ProfileHandler& handler, bool parsed) {
    TM_TRY(bytes.read());
    if (!handler.refusal().empty())
        return fail(ErrorCode::bad_input, handler.refusal(), bytes.position(),
                    "--lenient skips and counts such events");
    if (bytes.too_long())
        return fail(ErrorCode::bad_input, "a text or number of more than 64 MiB", bytes.position(),
                    "no profiler writes one");
    if (!parsed && !(bytes.at_end() && handler.found_events()))
        return fail(ErrorCode::bad_input, "is not JSON from here on", bytes.position(),
                    std::string(kHowToProfile));
    if (!handler.found_events())
        return fail(ErrorCode::bad_input, "has no list traceEvents", source.name(),
                    std::string(kHowToProfile));
    return {};
}

Result<TraceInfo> read_profile(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    JsonBytes bytes(source, options);
    ProfileHandler handler(options);
    const bool parsed = ProfileJson::sax_parse(JsonIterator(bytes), JsonIterator(), &handler);
    TM_TRY(check_profile(source, bytes, handler, parsed));
    std::vector<AddressEvent> events = handler.take_events();
    if (events.empty())
        return fail(
            ErrorCode::bad_input,
            handler.on_host() > 0 ? "has only allocations on the host" : "has no [memory] events",
            source.name(), std::string(kHowToProfile));
    TraceInfo info;
    info.format = "torch-profiler";
    info.source = "torch.profiler";
    info.cut_off = !parsed;
    info.devices = handler.devices();
    info.anomalies.bad_records = handler.bad();
    info.warnings.emplace_back(
        "the profiler records no streams, and sizes after the allocator's rounding");
    if (!parsed)
        info.warnings.emplace_back(
            "the file ends in the middle: only its complete events are here");
    if (handler.on_host() > 0)
        info.warnings.push_back(fmt::format("{} about memory of the host left out",
                                            format_counted(handler.on_host(), "event")));
    const Nanoseconds start =
        handler.base_time() + std::ranges::min(events, {}, &AddressEvent::time).time;
    info.start_time = start > kSomeTimeAgo ? start : 0;  // without a base the time is unknown
    TM_TRY(write_address_events(std::move(events), sink, options, source.name(), info));
    return info;
}

}  // namespace

FormatInfo torch_profiler() {
    return {"torch-profiler", "Chrome trace of torch.profiler, with profile_memory=True",
            recognise_profile, read_profile};
}

}  // namespace tidemark::formats
