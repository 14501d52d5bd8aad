// What the shells of this process share: a small number for each thread, and what fork() needs.
#pragma once

namespace tidemark {

// A number of the calling thread that no other living thread has: as small as their count allows,
// given back when the thread ends, so that a new thread takes over what an ended one has warmed up.
// Within the destructors of thread-local objects a number may be shared; so it chooses a lock, and
// never stands for one. Thread-safe. Nanoseconds, but for a thread's first call.
unsigned thread_slot();

// Something with locks that lives when the process forks: they are held while it does, so that the
// child, which has the forking thread alone, finds nothing half done and no lock held for ever.
// Derived classes call enter and leave when all of them is there.
class ForkAware {
  public:
    virtual ~ForkAware() = default;
    virtual void before_fork() = 0;  // takes its locks
    virtual void after_fork() = 0;   // gives them back, in the parent and in the child

  protected:
    ForkAware() = default;
    ForkAware(const ForkAware&) = delete;
    ForkAware& operator=(const ForkAware&) = delete;

    void enter();
    void leave();
};

}  // namespace tidemark
