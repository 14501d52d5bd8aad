// Sparse ids become dense numbers; the same content becomes the same number.
#include "traces/live/names.h"

#include <cstring>
#include <string_view>

namespace tidemark::live {
namespace {

std::uint32_t found_in(const std::unordered_map<std::uint64_t, std::uint32_t>& ids,
                       std::uint64_t id) {
    const auto found = ids.find(id);
    return found == ids.end() ? 0 : found->second;
}

std::uint64_t stream_key(const Record& record) {
    return static_cast<std::uint64_t>(record.site >> kNumberBits) << 16U | record.stream;
}

}  // namespace

void NameTables::define(std::span<const Record> slots) {
    const Record& record = slots.front();
    switch (record.kind) {
        case RecordKind::string: {
            const std::string_view text(reinterpret_cast<const char*>(slots.data() + 1),
                                        record.size);
            string_ids_[record.site] = strings_.intern(text);
            return;
        }
        case RecordKind::stack:
            return define_stack(slots);
        case RecordKind::site: {
            const auto [pool, is_new] =
                pool_numbers_.try_emplace(record.extra, static_cast<std::uint32_t>(pools_.size()));
            if (record.extra == 0)
                pool->second = 0;
            else if (is_new)
                pools_.push_back(static_cast<std::uint32_t>(record.extra));
            sites_[record.site] = {found_in(string_ids_, record.address),
                                   found_in(stack_ids_, record.size), pool->second};
            return;
        }
        case RecordKind::stream: {
            const auto [stream, is_new] = stream_handles_.try_emplace(
                record.extra, static_cast<std::uint32_t>(streams_.size()));
            if (record.extra == 0)
                stream->second = 0;
            else if (is_new)
                streams_.push_back(record.extra);
            stream_ids_[stream_key(record)] = stream->second;
            return;
        }
        case RecordKind::setting:
            return define_setting(record);
        default:
            return;
    }
}

void NameTables::define_setting(const Record& record) {
    const NamedSetting setting{found_in(string_ids_, record.address),
                               found_in(string_ids_, record.size),
                               (record.extra & kOfAllocator) != 0};
    for (NamedSetting& known : settings_) {
        if (known.key == setting.key && known.of_allocator == setting.of_allocator) {
            known = setting;
            return;
        }
    }
    settings_.push_back(setting);
}

void NameTables::define_stack(std::span<const Record> slots) {
    const Record& record = slots.front();
    std::vector<Frame> frames(record.size);
    const auto* const bytes = reinterpret_cast<const std::byte*>(slots.data() + 1);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        std::array<std::uint32_t, 3> fields{};
        std::memcpy(fields.data(), bytes + i * kFrameSize, kFrameSize);
        frames[i] = {found_in(string_ids_, fields[0]), found_in(string_ids_, fields[1]), fields[2]};
    }
    stack_ids_[record.site] = stacks_.intern(frames);
}

std::uint32_t NameTables::string(std::uint64_t id) const {
    return found_in(string_ids_, id);
}

Named NameTables::site(std::uint32_t id) const {
    const auto found = sites_.find(id);
    return found == sites_.end() ? Named{} : found->second;
}

std::uint32_t NameTables::stream(const Record& record) const {
    return record.stream == 0 ? 0 : found_in(stream_ids_, stream_key(record));
}

}  // namespace tidemark::live
