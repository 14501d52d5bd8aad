// How large the blocks were.
#include "traces/readers/torch_preamble.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>

namespace tidemark::torch {
namespace {

constexpr Bytes kGranularity = 512;
constexpr Bytes kUnsplitMax = 1_MiB;  // a remainder up to this stays with its block (large pool)

std::uint64_t whole_number(std::string_view text, std::uint64_t otherwise) {
    std::uint64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    return code == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

// "1:0,2:4,...": the key is the lower end of the interval in MiB, a power of two.
void read_divisions(std::string_view text, std::array<Bytes, 16>& divisions) {
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), item.size() + 1));
        const std::size_t colon = std::min(item.find(':'), item.size());
        const std::uint64_t key = whole_number(item.substr(0, colon), 0);
        if (key == 0 || colon == item.size())
            continue;
        const auto index = static_cast<std::size_t>(std::bit_width(key) - 1);
        if (index < divisions.size())
            divisions[index] = whole_number(item.substr(colon + 1), 0);
    }
}

// Blocks of uncertain size: some of the free memory behind them may be theirs. The first allocation
// that begins there, at most kUnsplitMax behind the rounded request, shows the size, since
// allocations begin where a free block begins.
class Doubts {
  public:
    explicit Doubts(std::span<const Entry> entries) : entries_(entries) {}

    void add(EarlyBlock& block) { blocks_.push_back(&block); }

    void settle() {
        std::size_t left = blocks_.size();
        settled_.assign(blocks_.size(), false);
        for (std::size_t i = 0; i < entries_.size() && left != 0; ++i) {
            const Entry& entry = entries_[i];
            const bool is_alloc = entry.action() == Action::alloc;
            const bool is_free = entry.action() == Action::free_requested ||
                                 entry.action() == Action::free_completed ||
                                 entry.action() == Action::free;
            const std::size_t at = is_alloc || is_free ? below(entry.address) : blocks_.size();
            if (at == blocks_.size() || settled_[at])
                continue;
            EarlyBlock& block = *blocks_[at];
            const Bytes behind = entry.address - block.address;
            const bool borders =
                is_alloc && behind >= block.size && behind - block.size <= kUnsplitMax;
            if (borders)
                block.size = behind;
            settled_[at] = borders || (is_free && behind == 0);
            left -= settled_[at] ? 1U : 0U;
        }
    }

  private:
    // The last block that begins at or below `address`, or the number of blocks.
    std::size_t below(std::uint64_t address) const {
        const auto next = std::upper_bound(
            blocks_.begin(), blocks_.end(), address,
            [](std::uint64_t a, const EarlyBlock* block) { return a < block->address; });
        return next == blocks_.begin() ? blocks_.size()
                                       : static_cast<std::size_t>(next - blocks_.begin()) - 1;
    }

    std::span<const Entry> entries_;
    std::vector<EarlyBlock*> blocks_;  // by address
    std::vector<bool> settled_;
};

// The block's size if it fits below `end`; 0 if not.
Bytes least_size(const EarlyBlock& block, Bytes room, const Rounding& rounding) {
    if (block.size != 0)
        return block.size <= room ? block.size : 0;
    if (block.requested >= kLargestRequest)
        return 0;
    const Bytes rounded = rounding.round(block.requested);
    if (rounded <= room)
        return rounded;
    // The rounding settings were different when the block was made.
    const Bytes plain = align_up(std::max<Bytes>(block.requested, 1), kGranularity);
    return plain <= room ? plain : 0;
}

}  // namespace

Rounding Rounding::from(const std::vector<std::pair<std::string, std::string>>& settings) {
    Rounding rounding;
    for (const auto& [key, value] : settings) {
        if (key == "roundup_power2_divisions")
            read_divisions(value, rounding.divisions);
        else if (key == "max_split_size")
            rounding.max_split = whole_number(value, ~Bytes{0});
    }
    return rounding;
}

Bytes Rounding::round(Bytes requested) const {
    if (requested < kGranularity)
        return kGranularity;
    const auto power = static_cast<std::size_t>(std::bit_width(requested) - 1);
    const std::size_t interval = power < 20 ? 0 : std::min<std::size_t>(power - 20, 15);
    const Bytes parts = divisions[interval];
    if (parts > 1 && requested / kGranularity >= parts && requested != kGranularity * parts) {
        const Bytes floor = Bytes{1} << power;
        const Bytes step = floor >> static_cast<unsigned>(std::bit_width(parts) - 1);
        if (requested == floor)
            return requested;
        return step == 0 ? 2 * floor : (requested + step - 1) / step * step;
    }
    return align_up(requested, kGranularity);
}

void size_early_blocks(History& history, const Rounding& rounding) {
    std::vector<EarlyBlock> sound;
    sound.reserve(history.early_blocks.size());
    Doubts doubts(history.entries);
    std::uint64_t free_from = 0;  // behind the last sound block
    for (std::size_t i = 0; i < history.early_blocks.size(); ++i) {
        EarlyBlock block = history.early_blocks[i];
        const auto run = run_at(history.early_runs, block.address);
        if (run == history.early_runs.end() || block.address < free_from)
            continue;
        std::uint64_t end = run->first + run->second.size;
        if (i + 1 < history.early_blocks.size())
            end = std::min(end, std::max(history.early_blocks[i + 1].address, block.address));
        const Bytes room = end - block.address;
        const Bytes least = least_size(block, room, rounding);
        if (least == 0)
            continue;
        const bool keeps_rests = block.size == 0 && !run->second.expandable && !run->second.small;
        block.size = least;
        if (keeps_rests && (room - least <= kUnsplitMax || least >= rounding.max_split))
            block.size = room;
        free_from = block.address + block.size;
        sound.push_back(block);
        if (keeps_rests && block.size == least && room != least)
            doubts.add(sound.back());
    }
    doubts.settle();
    history.early_blocks = std::move(sound);
}

}  // namespace tidemark::torch
