#include <thread>
#include <utility>

#include "daemon/store/failure.h"
#include "daemon/store/reader.h"
#include "daemon/store/store_thread.h"
#include "proto/base/mailbox.h"

namespace puzzled {

struct ReadThread::Impl {
  struct Question {
    std::uint64_t ticket = 0;
    query::Query query;
  };

  Impl(const std::string& database_path, const StoreOptions& options,
       std::function<void()> wake_reactor)
      : path(database_path),
        reader(path, options),
        wake(std::move(wake_reactor)),
        thread([this] { run(); }) {}

  void run() {
    while (!questions.closed()) {
      for (const Question& question : questions.wait()) {
        if (questions.closed()) return;
        answers.put(answer(question));
        wake();
      }
    }
  }

  Answered answer(const Question& question) {
    Answered answered{.ticket = question.ticket, .answer = {}, .error = {}};
    try {
      answered.answer = reader.answer(question.query);
    } catch (const sqlite::Error& error) {
      answered.is_damaged = !error.passes();
      answered.error = answered.is_damaged ? store_failure(path, error).what() : error.what();
    }
    return answered;
  }

  const std::string path;
  Reader reader;
  std::function<void()> wake;
  Mailbox<Question> questions;
  Mailbox<Answered> answers;
  std::thread thread;  // last: it uses all of the above
};

ReadThread::ReadThread(const std::string& database_path, StoreOptions options,
                       std::function<void()> wake)
    : impl_(std::make_unique<Impl>(database_path, options, std::move(wake))) {}

ReadThread::~ReadThread() {
  impl_->questions.close();
  impl_->thread.join();
}

void ReadThread::submit(std::uint64_t ticket, query::Query query) {
  impl_->questions.put({ticket, std::move(query)});
}

std::vector<ReadThread::Answered> ReadThread::take() { return impl_->answers.take(); }

}  // namespace puzzled
