// kept_run: field by field, in the order of the struct.
#include "replay/scenario/kept_run.h"

#include <mutex>
#include <set>
#include <string>

namespace tidemark {
namespace {

// One place for both directions: `Words` puts a field or gets it.
class Putter {
  public:
    explicit Putter(tmk::ByteWriter& writer) : writer_(writer) {}

    template <class T>
    void number(const T& value) {
        writer_.put(value);
    }

    void text(const std::string& text) { writer_.put_text(text); }

    void lasting_text(std::string_view text) { writer_.put_text(text); }

    template <class T, class Each>
    void list(const std::vector<T>& list, Each&& each) {
        writer_.put(std::uint64_t{list.size()});
        for (const T& element : list)
            each(element);
    }

  private:
    tmk::ByteWriter& writer_;
};

// Texts that views may point into for ever. There are as many as there are metrics.
std::string_view lasting(std::string_view text) {
    static std::mutex mutex;
    static std::set<std::string, std::less<>> texts;
    const std::lock_guard lock(mutex);
    return *texts.emplace(text).first;
}

class Getter {
  public:
    explicit Getter(tmk::ByteReader& reader) : reader_(reader) {}

    template <class T>
    void number(T& value) {
        value = reader_.get<T>();
    }

    void text(std::string& text) { text = reader_.get_text(); }

    void lasting_text(std::string_view& text) { text = lasting(reader_.get_text()); }

    template <class T, class Each>
    void list(std::vector<T>& list, Each&& each) {
        const auto count = reader_.get<std::uint64_t>();
        for (std::uint64_t i = 0; i < count && reader_.ok(); ++i)
            each(list.emplace_back());
    }

  private:
    tmk::ByteReader& reader_;
};

template <class Words, class AnyScenario>
void pass_scenario(Words& words, AnyScenario& scenario) {
    words.text(scenario.trace);
    words.text(scenario.policy);
    words.text(scenario.device);
    words.text(scenario.profile);
    words.number(scenario.scale);
    words.number(scenario.memory);
    words.number(scenario.stop_at_refusal);
}

template <class Words, class AnySummary>
void pass_summary(Words& words, AnySummary& summary) {
    words.number(summary.events);
    words.number(summary.replayed);
    words.number(summary.refused);
    words.number(summary.refused_again);
    words.number(summary.retired);
    words.number(summary.skipped);
    words.number(summary.live_at_end);
    words.number(summary.elapsed);
    words.number(summary.elapsed_total);
    words.number(summary.makespan);
}

template <class Words, class AnyRefusal>
void pass_refusal(Words& words, AnyRefusal& refusal) {
    words.number(refusal.event);
    words.number(refusal.what);
    words.number(refusal.why.cause);
    words.number(refusal.why.status);
    words.number(refusal.usage);
    words.number(refusal.largest_free);
}

template <class Words, class AnyMeasurement>
void pass_measurement(Words& words, AnyMeasurement& measurement) {
    words.lasting_text(measurement.name);
    words.lasting_text(measurement.summary);
    words.number(measurement.unit);
    words.number(measurement.better);
    words.number(measurement.whole);
    words.number(measurement.real);
}

template <class Words, class AnyRun>
void pass_run(Words& words, AnyRun& run) {
    pass_scenario(words, run.scenario);
    words.text(run.policy_name);
    words.list(run.policy_options, [&](auto& option) {
        words.text(option.first);
        words.text(option.second);
    });
    pass_summary(words, run.summary);
    words.list(run.measurements, [&](auto& measurement) { pass_measurement(words, measurement); });
    words.list(run.refusals, [&](auto& refusal) { pass_refusal(words, refusal); });
    words.text(run.device_name);
    words.number(run.limit);
    words.text(run.limit_text);
    words.number(run.as_recorded);
    words.number(run.timeline.events_per_bucket);
    words.list(run.timeline.buckets, [&](auto& bucket) { words.number(bucket); });
    words.list(run.warnings, [&](auto& warning) { words.text(warning); });
    words.number(run.trace_hash);
    words.number(run.profile_hash);
}

}  // namespace

void put_run(tmk::ByteWriter& writer, const Run& run) {
    Putter words(writer);
    pass_run(words, run);
}

Run get_run(tmk::ByteReader& reader) {
    Run run;
    Getter words(reader);
    pass_run(words, run);
    return run;
}

}  // namespace tidemark
