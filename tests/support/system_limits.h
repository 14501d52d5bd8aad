// Limits of the system, while objects of these types live: one of each at a time. They hold for the
// whole program.
#pragma once

namespace tidemark::support {

// Only so many threads more are created.
class ThreadLimit {
  public:
    explicit ThreadLimit(int threads);
    ThreadLimit(const ThreadLimit&) = delete;
    ThreadLimit& operator=(const ThreadLimit&) = delete;
    ~ThreadLimit();
};

// mmap gives nothing (ENOMEM).
class NoMappings {
  public:
    NoMappings();
    NoMappings(const NoMappings&) = delete;
    NoMappings& operator=(const NoMappings&) = delete;
    ~NoMappings();
};

}  // namespace tidemark::support
