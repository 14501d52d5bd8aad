// adversarial: access patterns that hurt. Each breaks a rule of thumb on which some policy relies:
//
//   scan    a cycle through everything: with a little less memory, LRU has just evicted what is
//           needed next
//   flood   a small hot set and, again and again, a scan through everything else, used only once:
//           policies that keep what is recent lose the hot set
//   sizes   from one byte to gigabytes, as many of each: counting buffers is not counting bytes
//   gang    kernels that need most of the memory together, never the same part of it
//   phases  one half, then the other, each for long: policies that keep what was used often keep
//           the wrong half
//
// Buffers are written when they are made; after that most uses read, and one in eight writes.
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "traces/generators/generators.h"
#include "traces/generators/kernel_time.h"
#include "traces/generators/option_list.h"
#include "traces/generators/program.h"

namespace tidemark::generators {
namespace {

constexpr std::array<std::string_view, 5> kPatterns{"scan", "flood", "sizes", "gang", "phases"};

constexpr std::array kAdversarialOptions{
    events_option("100000", "1",
                  "At most this many events, but always enough to make and free all buffers."),
    seed_option("Another seed gives other sizes and choices."),
    choice_option("pattern", "scan", kPatterns,
                  "scan: a cycle through all buffers; flood: a hot set, and scans through buffers "
                  "that are used once; sizes: buffers of every magnitude; gang: kernels that need "
                  "most of the memory together; phases: one half, then the other."),
    bytes_option("working_set", "8GiB", {"1MiB", "1PiB"}, "Size of all buffers together."),
    bytes_option("buffer", "64MiB", {"1KiB", "1TiB"},
                 "Largest buffer; the smallest is half of it. Not for `sizes`. At most 1/16 of the "
                 "working set."),
    percent_option("gang", "50", {"1", "100"},
                   "Share of the working set that a kernel of `gang` uses."),
    count_option("rate", "3000", {"1", "1000000"}, "Speed at which kernels move bytes.", "GB/s"),
};

class Adversarial {
  public:
    Adversarial(const Options& options, TraceSink& sink)
        : program_(sink, options.count("seed"), Pace::by_generator),
          events_(options.count("events")),
          pattern_(options.choice("pattern")),
          working_set_(options.bytes("working_set")),
          buffer_(std::min(options.bytes("buffer"), working_set_ / 16)),
          gang_(options.count("gang")),
          rates_{.bytes_per_ns = options.count("rate")} {}

    Result<TraceInfo> run() {
        TM_TRY(pattern_ == "sizes" ? make_sizes() : make_buffers());
        while (program_.event_count() + buffers_.size() + 1 <= events_) {
            const std::uint64_t before = program_.event_count();
            TM_TRY(round());
            if (program_.event_count() == before)
                break;  // not even one kernel fits any longer
        }
        for (const Buffer& buffer : buffers_)
            TM_TRY(program_.free(buffer.slot, kStream));
        return program_.finish(1);
    }

  private:
    static constexpr StreamId kStream = StreamId::default_stream;

    struct Buffer {
        std::uint32_t slot = kNoSlot;
        Bytes size = 0;
    };

    Result<Buffer> make(Bytes size) {
        Buffer buffer{kNoSlot, size};
        TM_TRY(program_.allocate(size, kStream, buffer.slot));
        TM_TRY(program_.launch(std::array{Use{buffer.slot, kWrites}}, kStream));
        program_.pass(kernel_time(rates_, size));
        return buffer;
    }

    Result<void> make_buffers() {
        for (Bytes left = working_set_; left > 0;) {
            const Bytes size = buffer_ - program_.random().below(buffer_ / 2 + 1);
            TM_ASSIGN(const Buffer buffer, make(std::min(size, left)));
            buffers_.push_back(buffer);
            left -= buffer.size;
        }
        return {};
    }

    // As many of each power of two, up to a quarter of the working set, as there is room for.
    Result<void> make_sizes() {
        const auto powers = static_cast<std::uint64_t>(std::bit_width(working_set_ / 4));
        Bytes left = working_set_;
        for (std::uint64_t i = 0; i < kMostSizes && left > 0; ++i) {
            TM_ASSIGN(const Buffer buffer, make(std::min(draw_size(powers), left)));
            buffers_.push_back(buffer);
            left -= buffer.size;
        }
        sizes_left_ = left;
        return {};
    }

    Bytes draw_size(std::uint64_t powers) {
        const Bytes base = Bytes{1} << program_.random().below(powers);
        return base + program_.random().below(base);
    }

    Result<void> round() {
        if (pattern_ == "scan")
            return pass(0, buffers_.size());
        if (pattern_ == "flood")
            return flood();
        if (pattern_ == "sizes")
            return churn();
        return pattern_ == "gang" ? gang() : phase();
    }

    bool has_room(std::uint64_t events) const {
        return program_.event_count() + events + buffers_.size() <= events_;
    }

    // One kernel that uses one buffer, unless the trace is full.
    Result<void> use(const Buffer& buffer) {
        if (!has_room(1))
            return {};
        const bool writes = program_.random().below(8) == 0;
        const Use one{buffer.slot, static_cast<std::uint8_t>(writes ? kReads | kWrites : kReads)};
        TM_TRY(program_.launch({&one, 1}, kStream));
        program_.pass(kernel_time(rates_, buffer.size));
        return {};
    }

    Result<void> pass(std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            TM_TRY(use(buffers_[i]));
        return {};
    }

    Result<void> use_any(std::size_t begin, std::size_t end, std::size_t times) {
        for (std::size_t i = 0; i < times; ++i)
            TM_TRY(use(buffers_[begin + program_.random().below(end - begin)]));
        return {};
    }

    // The first eighth is hot; between two scans through everything else each hot buffer is used
    // four times.
    Result<void> flood() {
        const std::size_t hot = std::max<std::size_t>(1, buffers_.size() / 8);
        TM_TRY(use_any(0, hot, hot * 4));
        return pass(hot, buffers_.size());
    }

    // One of the buffers is freed and another of any size is made; then eight are used.
    Result<void> churn() {
        if (!has_room(3))
            return use(buffers_.front());
        const std::size_t index = program_.random().below(buffers_.size());
        TM_TRY(program_.free(buffers_[index].slot, kStream));
        const auto powers = static_cast<std::uint64_t>(std::bit_width(working_set_ / 4));
        const Bytes room = sizes_left_ + buffers_[index].size;
        TM_ASSIGN(buffers_[index], make(std::min(draw_size(powers), room)));
        sizes_left_ = room - buffers_[index].size;
        return use_any(0, buffers_.size(), 8);
    }

    // Kernels that start anywhere and continue until they have their share of the working set.
    Result<void> gang() {
        const Bytes wanted = working_set_ / 100 * gang_;
        std::size_t index = program_.random().below(buffers_.size());
        std::vector<Use> uses;
        Bytes size = 0;
        for (std::size_t i = 0; i < buffers_.size(); ++i, ++index) {
            const Buffer& buffer = buffers_[index % buffers_.size()];
            if (i > 0 && size + buffer.size > wanted)
                break;
            const bool writes = program_.random().below(8) == 0;
            uses.push_back(
                {buffer.slot, static_cast<std::uint8_t>(writes ? kReads | kWrites : kReads)});
            size += buffer.size;
        }
        if (!has_room(uses.size()))
            return {};
        TM_TRY(program_.launch(uses, kStream));
        program_.pass(kernel_time(rates_, size));
        return {};
    }

    // One half, sixteen times through in random order; then the other.
    Result<void> phase() {
        const std::size_t half = buffers_.size() / 2;
        const bool second = phases_++ % 2 == 1;
        return second ? use_any(half, buffers_.size(), 16 * half) : use_any(0, half, 16 * half);
    }

    // Small ones could go on forever without filling the working set.
    static constexpr std::uint64_t kMostSizes = 2000;

    Program program_;
    std::uint64_t events_;
    std::string_view pattern_;  // a view into the options, which outlive the run
    Bytes working_set_;
    Bytes buffer_;
    std::uint64_t gang_;
    KernelRates rates_;
    std::vector<Buffer> buffers_;
    Bytes sizes_left_ = 0;  // of the working set
    std::uint64_t phases_ = 0;
};

}  // namespace

GeneratorInfo adversarial() {
    return {"adversarial", "access patterns that hurt: pattern=scan, flood, sizes, gang or phases",
            kAdversarialOptions, run<Adversarial>};
}

}  // namespace tidemark::generators
