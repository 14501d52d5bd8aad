// Makes series, and extends those that are still right.
#include "viz/model/blocks/owner_follower.h"

#include <algorithm>
#include <utility>

#include "viz/model/blocks/owners.h"
#include "viz/model/blocks/site_index.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kOwnersShown = 14;  // with the rest, and what is hidden, 15 colours

}  // namespace

std::shared_ptr<const OwnerSeries> OwnerFollower::look(
    const std::shared_ptr<const History>& history, BlockTrait trait, const Filter& filter,
    bool wait) {
    if (history != history_) {
        job_.cancel();
        swept_ = nullptr;
        shown_ = nullptr;
        swept_for_.reset();
        failed_ = false;
        wrong_at_ = 0;
        history_ = history;
    }
    if (!history_)
        return nullptr;
    take(job_.take());
    const HistoryCounts counts = history_->counts();
    question_ = {trait, filter, counts.sites, history_->strings().size()};
    if (swept_for_ != question_ && job_.running()) {
        const bool grew_only =
            swept_for_ && swept_for_->trait == trait && swept_for_->filter == filter;
        if (!grew_only)
            job_.cancel();
    }
    while (!failed_ && !is_up_to_date()) {
        if (!job_.running())
            start();
        if (!wait)
            break;
        take(job_.wait());
    }
    return shown_;
}

bool OwnerFollower::is_up_to_date() const {
    const std::size_t events = history_->counts().events;
    return swept_for_ == question_ && shown_ && shown_ == swept_ &&
           (shown_->events() >= events || wrong_at_ >= events);
}

void OwnerFollower::start() {
    if (swept_for_ != question_ || !swept_) {
        swept_ = nullptr;
        swept_for_ = question_;
        job_.start([history = history_, question = question_](const Cancelled& cancelled) {
            return make(history, question, cancelled);
        });
        return;
    }
    job_.start([series = swept_](const Cancelled& cancelled) {
        const Result<bool> right = series->extend(cancelled);
        return right ? Answer{series, *right} : Answer{};
    });
}

OwnerFollower::Answer OwnerFollower::make(const std::shared_ptr<const History>& history,
                                          const Question& question, const Cancelled& cancelled) {
    OwnerSeries::Shows shows;
    if (hides_something(question.filter))
        shows = [blocks = std::make_shared<BlockFilter>(*history, question.filter, cancelled)](
                    const Block& block) { return blocks->lets_through(block); };
    auto series = OwnerSeries::create(
        history, classes_of(*history, question.trait, kOwnersShown, cancelled), std::move(shows));
    if (!series)
        return {};
    const Result<bool> right = (*series)->extend(cancelled);
    return right ? Answer{std::move(*series), *right} : Answer{};
}

// A series that was found to be wrong is shown until the next one is ready; where the next can't be
// better, it stays.
void OwnerFollower::take(std::optional<Answer> answer) {
    if (!answer)
        return;
    if (!answer->series) {
        failed_ = true;
        return;
    }
    const std::size_t events = answer->series->events();
    shown_ = answer->series;
    if (answer->right || wrong_at_ >= events) {
        swept_ = std::move(answer->series);
    } else {
        wrong_at_ = events;
        swept_ = nullptr;
    }
}

void OwnerFollower::columns(std::span<const SeriesColumn> of, std::size_t request) {
    const std::size_t known = shown_ ? shown_->events() : 0;
    if (columns_of_ == shown_ && known_ == known && request_ == request &&
        moments_.size() == (shown_ ? of.size() : 0))
        return;
    columns_of_ = shown_;
    known_ = known;
    request_ = request;
    moments_.resize(shown_ ? of.size() : 0);
    bytes_.resize(shown_ ? of.size() * shown_->owners() : 0);
    if (shown_)
        shown_->columns(of, moments_, bytes_);
}

}  // namespace tidemark::viz
