// Threads that work for later let those go first that draw now.
#pragma once

#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace tidemark::viz {

// The calling thread, and those it starts, get a processor when the screen's thread doesn't want
// it. Only a request; cannot be taken back.
inline void lower_thread_priority() {
#ifdef __linux__
    constexpr int kNice = 10;
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);  // of the thread alone
#endif
}

}  // namespace tidemark::viz
