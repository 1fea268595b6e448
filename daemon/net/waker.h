// Wakes a poll loop from other threads (an eventfd).
#pragma once

namespace puzzled {

class Waker {
 public:
  Waker();  // throws std::system_error if there is no descriptor left
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  [[nodiscard]] int fd() const { return fd_; }  // readable after wake() until clear()
  void wake() const;                            // any thread; never blocks
  void clear() const;

 private:
  int fd_;
};

}  // namespace puzzled
