// The signal's handler only sets a flag: it may do no more.
#include "replay/cli_support/interrupt.h"

#include <atomic>
#include <csignal>

namespace tidemark {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int /*signal*/) {
    interrupted.store(true);
}

}  // namespace

Interrupt::Interrupt(bool owns_process) : installed_(owns_process) {
    if (!installed_)
        return;
    interrupted.store(false);

    struct sigaction action {};

    action.sa_handler = on_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one ends the program
    sigaction(SIGINT, &action, nullptr);
}

Interrupt::~Interrupt() {
    if (installed_)
        std::signal(SIGINT, SIG_DFL);
}

bool Interrupt::requested() {
    return interrupted.load();
}

}  // namespace tidemark
