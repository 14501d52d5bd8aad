// Turns: a frame, or a piece of work.
#include "viz/page/page_view.h"

#include <algorithm>
#include <utility>

namespace tidemark::viz {
namespace {

constexpr int kFramesOfNews = 4;
constexpr std::byte kChooseMessage{8};
// An advice for more would hold up the page for a minute and longer; it is asked for by hand.
constexpr std::uint64_t kMostAdvisedEvents = 1'000'000;

}  // namespace

Result<std::unique_ptr<PageView>> PageView::open(const PageOptions& options) {
    std::unique_ptr<PageView> page(new PageView(options));
    ShellHost host;
    host.open = [self = page.get()](const std::vector<std::string>& paths) -> Result<void> {
        self->add(paths);
        return {};
    };
    host.choose_files = [self = page.get()] { self->chooses_ = true; };
    host.cancel_loading = [self = page.get()] { self->loader_.cancel(); };
    host.advise = [self = page.get()](std::size_t run) { self->loader_.advise(run); };
    host.replay = [self = page.get()](std::size_t run, const std::string& policy) {
        return self->loader_.replay(run, policy);
    };
    host.next_gpu = [self = page.get()](std::size_t run) {
        return self->loader_.show_next_gpu(run);
    };
    RemoteViewOptions view;
    view.dark = options.dark;
    view.form = FrameForm::plain;
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
    request.most_advised_events = kMostAdvisedEvents;
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

PageView::Turn PageView::turn() {
    Turn turn;
    const auto due = view_->next_frame();
    if (due && *due <= now())
        turn.messages = view_->draw(now());
    else if (loader_.running())
        loader_.step();
    if (loader_.poll())
        view_->refresh(kFramesOfNews);
    if (std::exchange(chooses_, false))
        turn.messages.emplace_back(1, kChooseMessage);
    if (loader_.running())
        turn.pause = 0;
    else if (const auto next = view_->next_frame())
        turn.pause = std::max(0.0, *next - now());
    return turn;
}

}  // namespace tidemark::viz
