// KeptErrno: errno belongs to the program. What it was is put back at the end of the scope.
#pragma once

#include <cerrno>

namespace tidemark::inject {

class KeptErrno {
  public:
    KeptErrno() = default;

    ~KeptErrno() { errno = error_; }

    KeptErrno(const KeptErrno&) = delete;
    KeptErrno& operator=(const KeptErrno&) = delete;

  private:
    const int error_ = errno;
};

}  // namespace tidemark::inject
