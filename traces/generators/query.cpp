// query: a query engine. Tables are in memory in chunks, loaded once; each stream runs one task at
// a time. A task joins and sorts. It reserves what it thinks it needs, builds a hash table from
// some chunks of one table, probes it with all chunks of another, sorts the matches, and frees its
// memory and its reservation. Some tasks find more rows than expected: they rebuild their hash
// table at twice the size, and exceed what they reserved.
//
// Time: a task's operations follow each other; streams run side by side. Waiting for a reservation
// takes no time here: a replay finds out how long it takes.
#include <algorithm>
#include <array>
#include <vector>

#include "traces/generators/alias_table.h"
#include "traces/generators/generators.h"
#include "traces/generators/option_list.h"
#include "traces/generators/popularity.h"
#include "traces/generators/program.h"
#include "traces/generators/query_plan.h"

namespace tidemark::generators {
namespace {

constexpr std::array kQueryOptions{
    events_option("100000", "1",
                  "At most this many events, in whole tasks, but at least one task."),
    seed_option("Another seed gives other tasks."),
    count_option("tasks", "0", {"0", "4000000000"},
                 "At most this many tasks; 0 = as many as fit into the events."),
    count_option("streams", "4", {"1", "1024"}, "Streams, each with one task at a time."),
    count_option("tables", "4", {"1", "1000"}, "Tables that are in memory throughout."),
    count_option("chunks", "16", {"1", "10000"},
                 "Chunks of a table; a task probes with all chunks of one table."),
    bytes_option("batch", "32MiB", {"1KiB", "16GiB"},
                 "Size of a chunk, and of the batch that is decoded from it."),
    count_option(
        "skew", "1", {"0", "3"},
        "Which tables are read: 0 = all equally often, else in proportion to 1/rank^skew."),
    percent_option("heavy", "10", {"0", "100"},
                   "Tasks whose hash table is four times as large as others'."),
    percent_option("accuracy", "80", {"1", "100"},
                   "A task reserves between its need and need / accuracy; a task that overshoots "
                   "reserves between need * accuracy and just below its need."),
    percent_option("overshoot", "15", {"0", "100"}, "Tasks that need more than they reserved."),
    count_option("think", "2000", {"0", "1000000000"},
                 "Time between the tasks of a stream, on average.", "us"),
    count_option("rate", "400", {"1", "1000000"}, "Speed at which an operator moves bytes.",
                 "GB/s"),
};

// The random choices for a task.
struct Work {
    std::uint64_t build_table = 0;
    std::uint64_t probe_table = 0;
    std::uint64_t build_chunks = 0;
    Bytes hash_size = 0;
    Bytes output_size = 0;  // the output for one probed chunk
    bool overshoots = false;
};

// A stream and its task.
struct TaskStream {
    Nanoseconds ready = 0;  // when it continues
    bool running = false;
    std::uint32_t task = 0;
    Bytes reserved = 0;
    std::vector<Step> steps;
    std::size_t next = 0;              // of the steps
    std::vector<std::uint32_t> slots;  // by the task's own buffers
};

class Query {
  public:
    Query(const Options& options, TraceSink& sink)
        : program_(sink, options.count("seed"), Pace::by_generator),
          tables_(options.count("tables")),
          chunks_(options.count("chunks")),
          popularity_(rank_weights(tables_, options.count("skew"))),
          streams_(options.count("streams")),
          events_(options.count("events")),
          tasks_(options.count("tasks")),
          batch_(options.bytes("batch")),
          heavy_(options.count("heavy")),
          accuracy_(options.count("accuracy")),
          overshoot_(options.count("overshoot")),
          think_(options.count("think") * 1000),
          rates_{.bytes_per_ns = options.count("rate")} {}

    Result<TraceInfo> run() {
        TM_TRY(load_tables());
        for (TaskStream& stream : streams_)
            stream.ready = program_.now() + think();
        while (TaskStream* const stream = next_stream()) {
            program_.go_to(stream->ready);
            const StreamId id{static_cast<std::uint32_t>(stream - streams_.data())};
            TM_TRY(stream->running ? advance(*stream, id) : start(*stream, id));
        }
        TM_TRY(drop_tables());
        return program_.finish(streams_.size());
    }

  private:
    static constexpr std::uint32_t kLoaded = 1;  // the event after which tables may be read

    // The stream that continues first; among equals the first one. Null when everything is done.
    TaskStream* next_stream() {
        const bool may_start = !full_ && (tasks_ == 0 || started_ < tasks_);
        TaskStream* first = nullptr;
        for (TaskStream& stream : streams_) {
            if ((stream.running || may_start) && (first == nullptr || stream.ready < first->ready))
                first = &stream;
        }
        return first;
    }

    Result<void> load_tables() {
        constexpr StreamId kStream = StreamId::default_stream;
        for (std::uint64_t i = 0; i < tables_ * chunks_; ++i) {
            TM_TRY(program_.allocate(batch_, kStream, table_slots_.emplace_back()));
            TM_TRY(program_.launch(std::array{Use{table_slots_.back(), kWrites}}, kStream));
            program_.pass(kernel_time(rates_, batch_));
        }
        TM_TRY(program_.record_event(kLoaded, kStream));
        for (std::uint32_t i = 1; i < streams_.size(); ++i)
            TM_TRY(program_.wait_event(kLoaded, StreamId{i}));
        return {};
    }

    // When all streams have finished with them.
    Result<void> drop_tables() {
        for (std::uint32_t i = 1; i < streams_.size(); ++i) {
            TM_TRY(program_.record_event(kLoaded + i, StreamId{i}));
            TM_TRY(program_.wait_event(kLoaded + i, StreamId::default_stream));
        }
        for (const std::uint32_t slot : table_slots_)
            TM_TRY(program_.free(slot, StreamId::default_stream));
        return {};
    }

    // Events of that.
    std::uint64_t closing_events() const { return table_slots_.size() + 2 * streams_.size(); }

    Nanoseconds think() {
        return think_ == 0 ? 0 : static_cast<Nanoseconds>(program_.random().below(2 * think_));
    }

    Work draw() {
        Random& random = program_.random();
        Work work;
        work.build_table = popularity_.pick(random.next());
        work.probe_table = popularity_.pick(random.next());
        work.build_chunks = 1 + random.below(std::max<std::uint64_t>(1, chunks_ / 4));
        work.hash_size = work.build_chunks * (batch_ / 2 + random.below(batch_ / 2));
        if (random.below(100) < heavy_)
            work.hash_size *= 4;
        work.output_size = batch_ / 16 + 1 + random.below(batch_ / 4);
        work.overshoots = random.below(100) < overshoot_;
        return work;
    }

    // Decodes a chunk of a table into a batch.
    std::uint32_t scan(Plan& plan, std::uint64_t table, std::uint64_t chunk) const {
        const std::uint32_t batch = plan.allocate(batch_);
        plan.kernel({{table * chunks_ + chunk, kReads, true}, {batch, kWrites}}, 2 * batch_);
        return batch;
    }

    std::uint32_t build(Plan& plan, const Work& work) const {
        std::uint32_t hash = plan.allocate(work.hash_size);
        plan.kernel({{hash, kWrites}}, work.hash_size);
        for (std::uint64_t i = 0; i < work.build_chunks; ++i) {
            const std::uint32_t batch = scan(plan, work.build_table, i);
            plan.kernel({{batch, kReads}, {hash, kReads | kWrites}}, 3 * batch_);
            plan.free(batch);
        }
        if (!work.overshoots)
            return hash;
        const std::uint32_t larger = plan.allocate(2 * work.hash_size);
        plan.kernel({{hash, kReads}, {larger, kWrites}}, 3 * work.hash_size);
        plan.free(hash);
        return larger;
    }

    std::vector<std::uint32_t> probe(Plan& plan, const Work& work, std::uint32_t hash) const {
        std::vector<std::uint32_t> outputs;
        for (std::uint64_t i = 0; i < chunks_; ++i) {
            const std::uint32_t batch = scan(plan, work.probe_table, i);
            outputs.push_back(plan.allocate(work.output_size));
            plan.kernel({{batch, kReads}, {hash, kReads}, {outputs.back(), kWrites}},
                        2 * batch_ + work.output_size);
            plan.free(batch);
        }
        plan.free(hash);
        return outputs;
    }

    // Puts the outputs into one buffer, and sorts that with a second one.
    void sort(Plan& plan, const Work& work, const std::vector<std::uint32_t>& outputs) const {
        const Bytes size = work.output_size * chunks_;
        const std::uint32_t rows = plan.allocate(size);
        std::uint8_t mode = kWrites;
        for (const std::uint32_t output : outputs) {
            plan.kernel({{output, kReads}, {rows, mode}}, 2 * work.output_size);
            plan.free(output);
            mode = kReads | kWrites;  // the rows before it stay
        }
        const std::uint32_t sorted = plan.allocate(size);
        constexpr int kPasses = 4;  // of a radix sort
        for (int pass = 0; pass < kPasses; ++pass) {
            const bool forth = pass % 2 == 0;
            plan.kernel({{forth ? rows : sorted, kReads}, {forth ? sorted : rows, kWrites}},
                        2 * size);
        }
        plan.free(sorted);
        plan.kernel({{rows, kReads}}, size);  // the answer is sent
        plan.free(rows);
    }

    // What a task with a need of `need` bytes reserves.
    Bytes estimate(Bytes need, bool overshoots) {
        Random& random = program_.random();
        const Bytes hundredth = need / 100;
        if (overshoots) {
            const Bytes most = hundredth * (100 - accuracy_);  // the most that is missing
            return std::max<Bytes>(1, need - 1 - random.below(most + 1));
        }
        return need + random.below(hundredth * (100 - accuracy_) * 100 / accuracy_ + 1);
    }

    // Starts a task, or notices that there is no room for its events.
    Result<void> start(TaskStream& stream, StreamId id) {
        const Work work = draw();
        Plan plan(rates_);
        sort(plan, work, probe(plan, work, build(plan, work)));
        const std::uint64_t events = plan.events() + 2;
        full_ = started_ > 0 &&
                program_.event_count() + promised_ + events + closing_events() > events_;
        if (full_)
            return {};
        promised_ += events;
        stream.running = true;
        stream.task = static_cast<std::uint32_t>(++started_);
        stream.reserved = estimate(plan.need(), work.overshoots);
        stream.slots.assign(plan.count(), kNoSlot);
        stream.steps = plan.take_steps();
        stream.next = 0;
        --promised_;
        return program_.reserve(stream.task, stream.reserved, id);
    }

    // The task's steps up to its next kernel; after the last, its end.
    Result<void> advance(TaskStream& stream, StreamId id) {
        while (stream.next < stream.steps.size()) {
            const Step& step = stream.steps[stream.next++];
            if (step.kind == EventKind::allocate) {
                TM_TRY(program_.allocate(step.size, id, stream.slots[step.buffer]));
            } else if (step.kind == EventKind::free) {
                TM_TRY(program_.free(stream.slots[step.buffer], id));
            } else {
                TM_TRY(launch(stream, step, id));
                stream.ready = program_.now() + step.duration;
                promised_ -= step.operands.size();
                return {};
            }
            --promised_;
        }
        stream.running = false;
        stream.ready = program_.now() + think();
        --promised_;
        return program_.release(stream.task, stream.reserved, id);
    }

    Result<void> launch(const TaskStream& stream, const Step& step, StreamId id) {
        std::array<Use, 4> uses{};
        std::size_t count = 0;
        for (const Operand& operand : step.operands)
            uses[count++] = {
                operand.is_chunk ? table_slots_[operand.index] : stream.slots[operand.index],
                operand.mode};
        return program_.launch(std::span(uses).first(count), id);
    }

    Program program_;
    std::uint64_t tables_;
    std::uint64_t chunks_;
    AliasTable popularity_;
    std::vector<TaskStream> streams_;  // by stream
    std::uint64_t events_;
    std::uint64_t tasks_;  // 0: as many as fit
    Bytes batch_;
    std::uint64_t heavy_;
    std::uint64_t accuracy_;
    std::uint64_t overshoot_;
    std::uint64_t think_;
    KernelRates rates_;
    std::vector<std::uint32_t> table_slots_;  // table by table
    std::uint64_t started_ = 0;
    std::uint64_t promised_ = 0;  // events that running tasks will still take
    bool full_ = false;
};

}  // namespace

GeneratorInfo query() {
    return {"query", "a query engine's tasks: reservations, joins and sorts on several streams",
            kQueryOptions, run<Query>};
}

}  // namespace tidemark::generators
