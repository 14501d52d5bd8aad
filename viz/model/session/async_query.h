// AsyncQuery: a question about a history whose answer takes too long for a frame (session/job.h).
// It is asked in each frame and costs nothing while it stays the same; the old answer stays until
// the new one is ready.
//
// The screen's thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "replay/timeline/history.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

template <class Question, class Answer>
class AsyncQuery {
  public:
    using Work = Answer (*)(const History& history, const Question& question,
                            const Cancelled& cancelled);

    // What to answer from now on; no question: no answer. `until` is the last event that the answer
    // is about: while the history has not grown beyond it, it is asked again.
    void ask(const std::shared_ptr<const History>& history, const std::optional<Question>& question,
             EventIndex until, Work work) {
        take(job_.take());
        if (history == nullptr || !question) {
            job_.cancel();
            question_.reset();
        }
        if (history == nullptr || !question || history != history_)
            answer_.reset();
        if (history == nullptr || !question)
            return;
        const std::size_t events = history->counts().events;
        const bool grows = events > known_ && known_ <= until;
        const bool same = history == history_ && question_ == question;
        if (same && (job_.running() || !grows))
            return;
        history_ = history;
        question_ = question;
        known_ = events;
        job_.start([history, question = *question, work](const Cancelled& cancelled) {
            return work(*history, question, cancelled);
        });
    }

    // The newest answer; null if there is none yet.
    const Answer* answer() const { return answer_ ? &*answer_ : nullptr; }

    // The answer is to an older question, or does not exist yet.
    bool running() const { return job_.running(); }

    // Waits for the answer: for stills.
    void finish() { take(job_.wait()); }

  private:
    void take(std::optional<Answer> answer) {
        if (answer)
            answer_ = std::move(answer);
    }

    std::shared_ptr<const History> history_;
    std::optional<Question> question_;
    std::size_t known_ = 0;  // events that the answer may know of
    std::optional<Answer> answer_;
    Job<Answer> job_;
};

}  // namespace tidemark::viz
