// kept_run: field by field, in the order of the struct.
#include "replay/scenario/kept_run.h"

#include <mutex>
#include <set>
#include <string>
#include <type_traits>

namespace tidemark {
namespace {

// One place for both directions: `Fields` puts a field or gets it.
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

// Texts that views may point into for the life of the process. There are as many as metrics.
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
        if constexpr (std::is_same_v<T, bool>)
            value = reader_.get<std::uint8_t>() != 0;  // of any byte
        else
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

template <class Fields, class AnyScenario>
void pass_scenario(Fields& fields, AnyScenario& scenario) {
    fields.text(scenario.trace);
    fields.text(scenario.policy);
    fields.text(scenario.device);
    fields.text(scenario.profile);
    fields.number(scenario.scale);
    fields.number(scenario.memory);
    fields.number(scenario.stop_at_refusal);
}

template <class Fields, class AnySummary>
void pass_summary(Fields& fields, AnySummary& summary) {
    fields.number(summary.events);
    fields.number(summary.replayed);
    fields.number(summary.refused);
    fields.number(summary.refused_again);
    fields.number(summary.retired);
    fields.number(summary.skipped);
    fields.number(summary.live_at_end);
    fields.number(summary.elapsed);
    fields.number(summary.elapsed_total);
    fields.number(summary.makespan);
}

template <class Fields, class AnyRefusal>
void pass_refusal(Fields& fields, AnyRefusal& refusal) {
    fields.number(refusal.event);
    fields.number(refusal.what);
    fields.number(refusal.why.cause);
    fields.number(refusal.why.status);
    fields.number(refusal.usage);
    fields.number(refusal.largest_free);
}

template <class Fields, class AnyMeasurement>
void pass_measurement(Fields& fields, AnyMeasurement& measurement) {
    fields.lasting_text(measurement.name);
    fields.lasting_text(measurement.summary);
    fields.number(measurement.unit);
    fields.number(measurement.better);
    fields.number(measurement.whole);
    fields.number(measurement.real);
}

template <class Fields, class AnyRun>
void pass_run(Fields& fields, AnyRun& run) {
    pass_scenario(fields, run.scenario);
    fields.text(run.policy_name);
    fields.list(run.policy_options, [&](auto& option) {
        fields.text(option.first);
        fields.text(option.second);
    });
    pass_summary(fields, run.summary);
    fields.list(run.measurements,
                [&](auto& measurement) { pass_measurement(fields, measurement); });
    fields.list(run.refusals, [&](auto& refusal) { pass_refusal(fields, refusal); });
    fields.text(run.device_name);
    fields.number(run.limit);
    fields.text(run.limit_text);
    fields.number(run.as_recorded);
    fields.number(run.timeline.events_per_bucket);
    fields.list(run.timeline.buckets, [&](auto& bucket) { fields.number(bucket); });
    fields.list(run.warnings, [&](auto& warning) { fields.text(warning); });
    fields.number(run.trace_hash);
    fields.number(run.profile_hash);
}

}  // namespace

void put_run(tmk::ByteWriter& writer, const Run& run) {
    Putter fields(writer);
    pass_run(fields, run);
}

Run get_run(tmk::ByteReader& reader) {
    Run run;
    Getter fields(reader);
    pass_run(fields, run);
    return run;
}

}  // namespace tidemark
