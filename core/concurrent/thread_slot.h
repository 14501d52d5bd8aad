// Shared by the shells of this process: a small number for each thread, and support for fork().
#pragma once

namespace tidemark {

// A number of the calling thread that no other running thread has. It is as small as their count
// allows, and is returned when the thread ends, so that a new thread takes over what an ended one
// has warmed up. Within the destructors of thread-local objects a number may be shared, so use it
// only to choose a lock, never instead of one. Thread-safe. Nanoseconds, except for a thread's
// first call.
unsigned thread_slot();

// An object with locks that exists when the process forks. They are held during the fork, so that
// the child, which has only the forking thread, finds nothing half done and no lock held forever.
// Derived classes call enter and leave while they are complete.
class ForkAware {
  public:
    virtual ~ForkAware() = default;
    virtual void before_fork() = 0;  // takes its locks
    virtual void after_fork() = 0;   // releases them, in the parent and in the child

  protected:
    ForkAware() = default;
    ForkAware(const ForkAware&) = delete;
    ForkAware& operator=(const ForkAware&) = delete;

    void enter();
    void leave();
};

}  // namespace tidemark
