// Loader: files as work for threads, and the box through which these hand over their results.
#include "viz/model/navigation/loader.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/base/task_pool.h"
#include "core/base/text.h"
#include "viz/model/navigation/findings.h"
#include "viz/model/navigation/run_loading.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {
namespace {

// With more files than this nobody wants to wait for the many replays that `advise` makes of each:
// it waits until it is requested.
constexpr std::size_t kMostAdvisedFiles = 8;

constexpr const char* kAsRecorded =
    "as recorded";  // what a run's policy is called until it is known

LoadState failed(Error error) {
    return {LoadState::Phase::failed, 0, {}, std::move(error)};
}

LoadState ready() {
    return {LoadState::Phase::ready, 1, {}, {}};
}

// What happened to a run since the last poll.
struct RunUpdate {
    LoadState state;
    std::shared_ptr<const History> history;
    EventIndex preamble = 0;  // of the history
    std::size_t gpu = 0;
    std::size_t gpus = 0;  // 0 = nothing new
    std::unique_ptr<Run> run;
    std::string assumed_policy;  // of the run
    std::unique_ptr<TierRun> tiers;
};

// What happened to its findings.
struct FindingsUpdate {
    LoadState state;
    std::optional<AdvisedFindings> found;
    std::uint64_t unadvised_events = 0;
};

// What threads have for the session. Thread-safe.
class Box {
  public:
    void report(std::size_t run, double share, const std::string& activity) {
        change(run, [&](RunUpdate& update) {
            update.state = {LoadState::Phase::loading, share, activity, {}};
        });
    }

    void fail(std::size_t run, const Error& error) {
        change(run, [&](RunUpdate& update) { update.state = failed(error); });
    }

    template <class Change>
    void change(std::size_t run, Change change) {
        const std::lock_guard lock(mutex_);
        change(runs_[run]);
    }

    // No list: the current one stays.
    void set_findings(std::size_t run, LoadState state, std::optional<AdvisedFindings> found = {},
                      std::uint64_t unadvised_events = 0) {
        const std::lock_guard lock(mutex_);
        FindingsUpdate& update = findings_[run];
        update.state = std::move(state);
        if (found)
            update.found = std::move(found);
        update.unadvised_events = unadvised_events;
    }

    // Moves all of it into `session`; false if there was nothing.
    bool empty_into(Session& session) {
        const std::lock_guard lock(mutex_);
        const bool has_some = !runs_.empty() || !findings_.empty();
        for (auto& [index, update] : runs_)
            move_into(session.runs[index], update);
        runs_.clear();
        for (auto& [index, update] : findings_)
            move_into(session.runs[index], update);
        findings_.clear();
        return has_some;
    }

  private:
    static void move_into(ViewedRun& viewed, RunUpdate& update) {
        viewed.state = std::move(update.state);
        if (update.gpus > 1 && viewed.gpus != update.gpus)
            viewed.label += fmt::format(", GPU {}", update.gpu);
        if (update.gpus > 0) {
            viewed.gpu = update.gpu;
            viewed.gpus = update.gpus;
        }
        if (update.history) {
            viewed.history = std::move(update.history);
            viewed.preamble = update.preamble;
        }
        if (update.run) {
            viewed.run = std::move(update.run);
            viewed.assumed_policy = std::move(update.assumed_policy);
            viewed.warnings = viewed.run->warnings;
        }
        if (update.tiers) {
            viewed.tiers = std::move(update.tiers);
            viewed.warnings = viewed.tiers->warnings;
        }
    }

    static void move_into(ViewedRun& viewed, FindingsUpdate& update) {
        viewed.findings_state = std::move(update.state);
        if (update.found) {
            viewed.findings = std::move(update.found->findings);
            viewed.verdict = std::move(update.found->verdict);
        }
        viewed.unadvised_events = update.unadvised_events;
    }

    std::mutex mutex_;
    std::map<std::size_t, RunUpdate> runs_;  // by index in the session
    std::map<std::size_t, FindingsUpdate> findings_;
};

std::size_t runs_a_file(const LoadRequest& request) {
    if (request.tiers.wanted())
        return tier_choices(request.tiers).size();
    return std::max<std::size_t>(request.policies.size(), 1);
}

std::string policy_of(const LoadRequest& request, std::size_t choice) {
    return request.policies.empty() ? std::string() : request.policies[choice];
}

// "lru, 60%": how a run over tiers differs from its siblings.
std::string choice_label(const LoadRequest& request, std::size_t choice) {
    if (!request.tiers.wanted()) {
        const std::string policy = policy_of(request, choice);
        return policy.empty() ? kAsRecorded : policy;
    }
    const TierChoice tiers = tier_choices(request.tiers)[choice];
    const std::string spill = tiers.spill.empty() ? TierScenario{}.spill : tiers.spill;
    return tiers.gpu_memory.empty() ? spill : fmt::format("{}, {}", spill, tiers.gpu_memory);
}

Result<void> check_names(const LoadRequest& request, std::size_t choice) {
    return request.tiers.wanted() ? check_tiers(request.tiers, tier_choices(request.tiers)[choice])
                                  : check_policy(policy_of(request, choice));
}

// Names of files, with their folder where names are equal.
std::vector<std::string> distinct_names(const std::vector<std::string>& files) {
    std::map<std::string, std::size_t> uses;
    for (const std::string& file : files)
        ++uses[file_label(file)];
    std::vector<std::string> names;
    for (const std::string& file : files) {
        const std::string name = file_label(file);
        const std::filesystem::path folder = std::filesystem::path(file).parent_path();
        names.push_back(uses[name] == 1 || folder.empty() ? name
                                                          : (folder.filename() / name).string());
    }
    return names;
}

// "run.tmk (2)" where a run is called "run.tmk" already.
std::string free_label(const Session& session, std::string label) {
    const auto is_taken = [&session](const std::string& name) {
        return std::ranges::any_of(session.runs,
                                   [&name](const ViewedRun& run) { return run.label == name; });
    };
    std::string free = label;
    for (int i = 2; is_taken(free); ++i)
        free = fmt::format("{} ({})", label, i);
    return free;
}

// One file: opened once, then replayed by a task for each of its runs. Exists as long as its tasks.
class FileWork : public std::enable_shared_from_this<FileWork> {
  public:
    FileWork(LoadRequest request, std::string path, std::size_t first_run, std::shared_ptr<Box> box,
             TaskPool& tasks, std::shared_ptr<const Cancelled> cancelled)
        : request_(std::move(request)),
          path_(std::move(path)),
          first_run_(first_run),
          box_(std::move(box)),
          tasks_(tasks),
          cancelled_(std::move(cancelled)),
          open_choices_(runs_a_file(request_)) {}

    void start() {
        tasks_.add([self = shared_from_this()] { self->open(); });
    }

    // Runs `advise` in any case. The trace is read again: nobody kept it for that.
    void start_advice(std::shared_ptr<const Cancelled> cancelled) {
        tasks_.add([self = shared_from_this(), cancelled = std::move(cancelled)] {
            self->advise_again(*cancelled);
        });
    }

  private:
    void open() {
        std::vector<std::size_t> choices;
        for (std::size_t i = 0; i < runs_a_file(request_); ++i) {
            if (const auto checked = check_names(request_, i); !checked)
                box_->fail(first_run_ + i, checked.error());
            else
                choices.push_back(i);
        }
        if (choices.empty())
            return;
        const auto report = [&](double share, const std::string& activity) {
            report_progress(share, activity);
            for (const std::size_t choice : choices)
                box_->report(first_run_ + choice, share, activity);
        };
        auto trace = open_for_view(path_, request_, report, *cancelled_);
        if (!trace) {
            for (const std::size_t choice : choices)
                box_->fail(first_run_ + choice, trace.error());
            return;
        }
        trace_ = std::move(trace->trace);
        for (const std::size_t choice : choices)
            box_->change(first_run_ + choice, [&](RunUpdate& update) {
                update.gpu = trace->gpu;
                update.gpus = trace->gpus;
            });
        open_choices_ = choices.size();
        const std::size_t first = choices.front();
        for (const std::size_t choice : choices)
            if (choice != first)
                tasks_.add([self = shared_from_this(), choice] { self->replay(choice); });
        // Immediately, so that of a thousand ranks a few are open, not all.
        replay(first);
    }

    void replay(std::size_t choice) {
        const std::size_t run = first_run_ + choice;
        const auto report = [&](double share, const std::string& activity) {
            report_progress(share, activity);
            box_->report(run, share, activity);
        };
        if (cancelled_->load())
            box_->fail(run, was_cancelled().error);
        else if (request_.tiers.wanted())
            replay_over_tiers(run, choice, report);
        else
            replay_under_policy(run, choice, report);
        if (--open_choices_ != 0)
            return;
        if (request_.advises && history_ && !is_long()) {
            // After the other files: they can be looked at before `advise` runs.
            tasks_.add([self = shared_from_this()] {
                self->advise();
                self->trace_.reset();
            });
            return;
        }
        if (request_.advises && history_)
            advise();
        trace_.reset();
    }

    // Many replays of it would take long.
    bool is_long() const { return trace_->info().event_count > request_.most_advised_events; }

    void replay_over_tiers(std::size_t run, std::size_t choice, const ReportProgress& report) {
        auto result =
            tiers_for_view(*trace_, request_, path_, tier_choices(request_.tiers)[choice], report);
        if (!result)
            return box_->fail(run, result.error());
        box_->change(run, [&](RunUpdate& update) {
            update.state = ready();
            update.tiers = std::make_unique<TierRun>(std::move(*result));
        });
    }

    void replay_under_policy(std::size_t run, std::size_t choice, const ReportProgress& report) {
        const auto preamble = static_cast<EventIndex>(trace_->info().preamble_count);
        const auto begun = [&](std::shared_ptr<const History> history) {
            box_->change(run, [&](RunUpdate& update) {
                update.state.phase = LoadState::Phase::loading;
                update.history = std::move(history);
                update.preamble = preamble;
            });
        };
        auto result = record_for_view(*trace_, request_, path_, policy_of(request_, choice), begun,
                                      report, *cancelled_);
        if (!result)
            return box_->fail(run, result.error());
        const std::shared_ptr<const History> history = result->history;
        const std::string policy = result->run.scenario.policy;
        const bool is_assumed = has_assumed_policy(trace_->info(), policy_of(request_, choice));
        box_->change(run, [&](RunUpdate& update) {
            update.state = ready();
            update.history = history;
            update.preamble = preamble;
            update.run = std::make_unique<Run>(std::move(result->run));
            if (is_assumed)
                update.assumed_policy = policy;
        });
        if (request_.advises)
            look(choice, *history);
        if (choice == 0) {
            policy_ = policy;
            history_ = history;
        }
    }

    void report_progress(double share, const std::string& activity) const {
        if (request_.on_progress)
            request_.on_progress(share, activity);
    }

    // What the run shows by itself.
    void look(std::size_t choice, const History& history) {
        const std::size_t run = first_run_ + choice;
        box_->set_findings(run, {LoadState::Phase::loading, 0, "looking for findings", {}});
        std::vector<Finding> seen = findings_of_history(history, *cancelled_);
        box_->set_findings(run, cancelled_->load() ? was_cancelled() : ready(),
                           AdvisedFindings{{}, std::move(seen)});
    }

    LoadState was_cancelled() const {
        return failed({ErrorCode::cancelled, "was cancelled", file_label(path_), {}});
    }

    // What many replays say of the first run, unless they would take long.
    void advise() {
        const std::uint64_t events = trace_->info().event_count;
        if (!cancelled_->load() && !is_long())
            return request_.advise_elsewhere ? ask_elsewhere() : ask(*trace_, *cancelled_);
        box_->set_findings(first_run_, cancelled_->load() ? was_cancelled() : ready(), {},
                           askable(events));
    }

    void advise_again(const Cancelled& cancelled) {
        if (request_.advise_elsewhere)
            return ask_elsewhere();
        const auto report = [&](double share, const std::string& activity) {
            box_->set_findings(first_run_, {LoadState::Phase::loading, share, activity, {}});
        };
        const auto trace = open_for_view(path_, request_, report, cancelled);
        if (!trace)
            return box_->set_findings(first_run_, failed(trace.error()), {}, askable(1));
        ask(*trace->trace, cancelled);
    }

    void ask_elsewhere() const {
        box_->set_findings(first_run_, {LoadState::Phase::loading, 0, kAsking, {}});
        request_.advise_elsewhere();
    }

    void ask(const Trace& trace, const Cancelled& cancelled) {
        box_->set_findings(first_run_, {LoadState::Phase::loading, 0, kAsking, {}});
        const auto advice = cancellable_advice(trace, advise_options(), cancelled);
        if (!advice)
            return box_->set_findings(first_run_, failed(advice.error()), {},
                                      askable(trace.info().event_count));
        box_->set_findings(first_run_, ready(),
                           findings_of(*history_, policy_, trace.info(), *advice, cancelled));
    }

    // `advise` can't run later on what can't be read again.
    std::uint64_t askable(std::uint64_t events) const { return path_ == "-" ? 0 : events; }

    AdviseOptions advise_options() const {
        AdviseOptions options;
        options.memory = request_.scenario.memory;
        options.overhead = request_.scenario.overhead;
        options.limit = request_.scenario.limit;
        options.profile = request_.scenario.profile;
        options.progress = [box = box_, run = first_run_, on_progress = request_.on_progress](
                               std::uint64_t done, std::uint64_t total) {
            if (on_progress)
                on_progress(share_of(done, total), kAsking);
            box->set_findings(run, {LoadState::Phase::loading, share_of(done, total), kAsking, {}});
        };
        return options;
    }

    static constexpr const char* kAsking = "looking for settings that need less";

    const LoadRequest request_;
    const std::string path_;
    const std::size_t first_run_;
    const std::shared_ptr<Box> box_;
    TaskPool& tasks_;
    const std::shared_ptr<const Cancelled> cancelled_;
    std::shared_ptr<const Trace> trace_;
    std::shared_ptr<const History> history_;  // of the first run
    std::string policy_;                      // it is under, as understood
    std::atomic<std::size_t> open_choices_;   // runs that aren't finished
};

// Empty for what is not a file.
std::string file_path(const std::string& named) {
    return named == "-" || named.starts_with("generate:") ? std::string() : named;
}

}  // namespace

std::vector<ViewedRun> planned_runs(const LoadRequest& request) {
    const std::vector<std::string> names = distinct_names(request.files);
    const std::size_t choices = runs_a_file(request);
    std::vector<ViewedRun> runs;
    for (std::size_t file = 0; file < names.size(); ++file) {
        const std::string& name = names[file];
        for (std::size_t i = 0; i < choices; ++i) {
            ViewedRun run;
            run.trace_name = name;
            run.path = file_path(request.files[file]);
            run.policy = choice_label(request, i);
            run.label = names.size() == 1 && choices > 1 ? run.policy
                        : choices == 1                   ? name
                                                         : fmt::format("{}, {}", name, run.policy);
            if (i > 0 && request.advises && !request.tiers.wanted())
                run.advised_with = runs[runs.size() - i].label;
            runs.push_back(std::move(run));
        }
    }
    return runs;
}

struct Loader::Shared {
    std::shared_ptr<Box> box = std::make_shared<Box>();
    std::shared_ptr<Cancelled> cancelled = std::make_shared<Cancelled>(false);
    std::map<std::size_t, std::shared_ptr<FileWork>> advised;  // by the first run of each file
    std::map<std::size_t, LoadRequest> sources;  // for each run: only its file, as requested
    TaskPool tasks{"tm-load", kHasThreads ? std::min(hardware_threads(), 8U) : 0,
                   lower_thread_priority};
};

Loader::Loader(Session& session) : session_(session), shared_(std::make_unique<Shared>()) {}

Loader::~Loader() {
    shared_->cancelled->store(true);
}

void Loader::add(LoadRequest request) {
    const std::size_t choices = runs_a_file(request);
    std::vector<ViewedRun> planned = planned_runs(request);
    // Each file is a request of its own: a thousand ranks don't carry a thousand names each.
    const std::vector<std::string> files = std::exchange(request.files, {});
    if (files.size() > kMostAdvisedFiles)
        request.most_advised_events = 0;
    for (std::size_t file = 0; file < files.size(); ++file) {
        const std::size_t first = session_.runs.size() + file * choices;
        request.files = {files[file]};
        const auto work = std::make_shared<FileWork>(request, files[file], first, shared_->box,
                                                     shared_->tasks, shared_->cancelled);
        if (request.advises)
            shared_->advised[first] = work;
        for (std::size_t run = first; run < first + choices; ++run)
            shared_->sources[run] = request;
        work->start();
    }
    for (ViewedRun& run : planned) {
        run.label = free_label(session_, std::move(run.label));
        session_.runs.push_back(std::move(run));
    }
}

void Loader::advise(std::size_t run) {
    const auto work = shared_->advised.find(run);
    if (work == shared_->advised.end() || session_.runs[run].unadvised_events == 0)
        return;
    session_.runs[run].unadvised_events = 0;
    work->second->start_advice(shared_->cancelled);
}

Result<std::size_t> Loader::replay(std::size_t run, const std::string& policy) {
    TM_TRY(check_policy(policy));
    const auto source = shared_->sources.find(run);
    const std::string label = session_.runs[run].label;
    if (source == shared_->sources.end() || source->second.tiers.wanted())
        return fail(ErrorCode::bad_option, "is not a trace replayed under a policy", label);
    LoadRequest request = source->second;
    if (request.files.front() == "-")
        return fail(ErrorCode::bad_option, "standard input can't be read again", label,
                    "save the trace to a file");
    for (const auto& [other, made] : shared_->sources)
        if (made.files == request.files && session_.runs[other].policy == policy &&
            session_.runs[other].state.phase != LoadState::Phase::failed)
            return other;
    request.policies = {policy};
    request.most_advised_events = 0;
    const std::size_t index = session_.runs.size();
    const std::string trace = session_.runs[run].trace_name;
    add(std::move(request));
    ViewedRun& added = session_.runs[index];
    added.trace_name = trace;
    added.label.clear();
    added.label =
        free_label(session_, trace == label ? policy : fmt::format("{}, {}", trace, policy));
    added.advised_with = label;
    return index;
}

Result<std::size_t> Loader::show_next_gpu(std::size_t run) {
    const auto source = shared_->sources.find(run);
    const ViewedRun& from = session_.runs[run];
    if (source == shared_->sources.end() || from.gpus < 2)
        return fail(ErrorCode::bad_option, "has only one GPU", from.label);
    LoadRequest request = source->second;
    if (request.files.front() == "-")
        return fail(ErrorCode::bad_option, "standard input can't be read again", from.label,
                    "save the trace to a file");
    const std::size_t gpu = (from.gpu + 1) % from.gpus;
    for (const auto& [other, made] : shared_->sources)
        if (made.files == request.files && session_.runs[other].policy == from.policy &&
            session_.runs[other].gpu == gpu &&
            session_.runs[other].state.phase != LoadState::Phase::failed)
            return other;
    request.gpu = gpu;
    request.policies.clear();
    if (from.policy != kAsRecorded)
        request.policies = {from.policy};
    const std::size_t index = session_.runs.size();
    add(std::move(request));
    return index;
}

bool Loader::poll() {
    return shared_->box->empty_into(session_);
}

bool Loader::running() const {
    return shared_->tasks.unfinished() > 0;
}

bool Loader::step() {
    return !kHasThreads && shared_->tasks.run_one();
}

void Loader::wait() {
    shared_->tasks.wait();
    poll();
}

void Loader::cancel() {
    shared_->cancelled->store(true);
    shared_->cancelled = std::make_shared<Cancelled>(false);
}

}  // namespace tidemark::viz
