// Turns: a frame, or a piece of work.
#include "viz/page/page_view.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "viz/model/figures/session_figures.h"
#include "viz/serve/wire.h"
#include "viz/shell/loader_host.h"

namespace tidemark::viz {
namespace {

constexpr int kFramesOfNews = 4;
constexpr double kFramesASecond = 60;  // as a window: nothing travels far
constexpr std::byte kChooseMessage{8};
constexpr std::byte kOverviewMessage{9};
constexpr std::byte kAdviseMessage{10};

using Json = nlohmann::ordered_json;

Json json_of(const Finding& finding) {
    return {{"weight", static_cast<int>(finding.weight)},
            {"title", finding.title},
            {"detail", finding.detail},
            {"event", finding.event},
            {"block", finding.block},
            {"policy", finding.policy},
            {"has_command", finding.has_command}};
}

Finding finding_of(const Json& json) {
    Finding finding;
    finding.weight = static_cast<Finding::Weight>(json.at("weight").get<int>());
    finding.title = json.at("title");
    finding.detail = json.at("detail");
    finding.event = json.at("event");
    finding.block = json.at("block");
    finding.policy = json.at("policy");
    finding.has_command = json.at("has_command");
    return finding;
}

// What a screen reader says of a run, a line each.
std::string overview_of(const ViewedRun& run) {
    std::string text = run.label + "\n";
    if (run.state.phase == LoadState::Phase::failed)
        return text + to_text(run.state.error) + "\n";
    if (!run.verdict.empty())
        text += run.verdict + "\n";
    for (const Finding& finding : run.findings)
        text += finding.title + "\n" + finding.detail + "\n";
    return text;
}

}  // namespace

Result<std::unique_ptr<PageView>> PageView::open(const PageOptions& options) {
    std::unique_ptr<PageView> page(new PageView(options));
    ShellHost host = loader_host(page->loader_);
    host.open = [self = page.get()](const std::vector<std::string>& paths) -> Result<void> {
        self->add(paths);
        return {};
    };
    host.choose_files = [self = page.get()] { self->chooses_ = true; };
    host.take_file = options.take_file;
    host.saves_tables = true;
    RemoteViewOptions view;
    view.dark = options.dark;
    view.form = FrameForm::plain;
    view.frames_a_second = kFramesASecond;
    view.location = options.location;
    TM_ASSIGN(page->view_, RemoteView::open(page->session_, std::move(host), view));
    page->view_->connect();
    return page;
}

PageView::PageView(const PageOptions& options) : options_(options), loader_(session_) {}

void PageView::add(std::vector<std::string> files) {
    LoadRequest request;
    request.files = std::move(files);
    request.keep = false;
    if (!options_.advises)
        request.advise_elsewhere = [this] { wants_advice_ = true; };
    request.on_progress = options_.on_progress;
    loader_.add(std::move(request));
    view_->refresh(kFramesOfNews);
}

bool PageView::take(std::span<const std::byte> message) {
    const auto events = parse_browser_events(message);
    if (!events)
        return false;
    for (const BrowserEvent& event : *events)
        view_->take(event);
    return true;
}

std::string PageView::findings() const {
    Json runs = Json::array();
    for (const ViewedRun& run : session_.runs) {
        if (run.findings_state.phase != LoadState::Phase::ready)
            continue;
        Json found = Json::array();
        for (const Finding& finding : run.findings)
            found.push_back(json_of(finding));
        runs.push_back({{"path", run.path}, {"verdict", run.verdict}, {"findings", found}});
    }
    return runs.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void PageView::take_findings(std::string_view json) {
    const Json runs = Json::parse(json, nullptr, false);
    for (const Json& found : runs) {
        const auto run = std::ranges::find_if(session_.runs, [&](const ViewedRun& each) {
            return each.path == found.at("path").get<std::string>() && each.advised_with.empty();
        });
        if (run == session_.runs.end())
            continue;
        run->verdict = found.at("verdict");
        run->findings.clear();
        for (const Json& each : found.at("findings"))
            run->findings.push_back(finding_of(each));
        run->findings_state = {LoadState::Phase::ready, 1, {}, {}};
        run->unadvised_events = 0;
    }
    // The other worker has ended: nothing more comes until it is started again.
    for (ViewedRun& run : session_.runs)
        if (run.findings_state.phase == LoadState::Phase::loading && run.history) {
            run.findings_state = {LoadState::Phase::ready, 1, {}, {}};
            run.unadvised_events = run.history->counts().events;
        }
    says_overview_ = true;
    view_->refresh(kFramesOfNews);
}

std::string PageView::figures() const {
    return session_figures(session_);
}

void PageView::send_overview(Turn& turn) {
    std::string text;
    for (const ViewedRun& run : session_.runs)
        text += overview_of(run);
    put_text(turn.messages.emplace_back(1, kOverviewMessage), text);
}

PageView::Turn PageView::turn() {
    Turn turn;
    const auto due = view_->next_frame();
    if (due && *due <= now())
        turn.messages = view_->draw(now());
    else if (loader_.running())
        loader_.step();
    if (loader_.poll()) {
        view_->refresh(kFramesOfNews);
        says_overview_ = true;
    }
    if (std::exchange(chooses_, false))
        turn.messages.emplace_back(1, kChooseMessage);
    if (std::exchange(wants_advice_, false))
        turn.messages.emplace_back(1, kAdviseMessage);
    if (!loader_.running() && std::exchange(says_overview_, false))
        send_overview(turn);
    if (loader_.running())
        turn.pause = 0;
    else if (const auto next = view_->next_frame())
        turn.pause = std::max(0.0, *next - now());
    return turn;
}

}  // namespace tidemark::viz
