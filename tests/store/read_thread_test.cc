#include <gtest/gtest.h>

#include <semaphore>

#include "daemon/store/store_thread.h"
#include "tests/store/support.h"

namespace puzzled {
namespace {

TEST(ReadThreadTest, AnswersInOrderWithTheTicket) {
  const TemporaryFolder folder;
  const std::string path = folder.file("puzzled.db");
  const auto store = Store::open(path, {});
  write(*store, {insert_job(1), insert_job(2)});
  std::counting_semaphore<> woken{0};
  ReadThread thread(path, {}, [&] { woken.release(); });
  for (std::uint64_t ticket = 0; ticket < 30; ++ticket) {
    thread.submit(ticket, query::GetJob{{ticket % 3}});
  }
  std::vector<ReadThread::Answered> answers;
  while (answers.size() < 30) {
    woken.acquire();
    for (auto& answer : thread.take()) answers.push_back(std::move(answer));
  }
  for (std::uint64_t ticket = 0; ticket < 30; ++ticket) {
    EXPECT_EQ(answers[ticket].ticket, ticket);
    EXPECT_EQ(answers[ticket].error, "");
    const auto* job = std::get_if<query::JobRow>(&answers[ticket].answer);
    ASSERT_EQ(job != nullptr, ticket % 3 != 0);
    if (job != nullptr) {
      EXPECT_EQ(job->job.value, ticket % 3);
    }
  }
}

TEST(ReadThreadTest, AFailedReadSaysSo) {
  const TemporaryFolder folder;
  const std::string path = folder.file("puzzled.db");
  const auto store = Store::open(path, {});
  write(*store, {insert_job(1)});
  std::counting_semaphore<> woken{0};
  ReadThread thread(path, {}, [&] { woken.release(); });
  {
    sqlite::Connection other(path, sqlite::Connection::Mode::kReadWrite);
    other.exec("DROP TABLE jobs");
  }
  thread.submit(1, query::GetJob{{1}});
  woken.acquire();
  const auto answers = thread.take();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_NE(answers[0].error, "");
  EXPECT_TRUE(answers[0].is_damaged) << "a table of ours that is gone is no passing trouble";
}

TEST(ReadThreadTest, EndsWithQuestionsLeft) {
  const TemporaryFolder folder;
  const std::string path = folder.file("puzzled.db");
  const auto store = Store::open(path, {});
  ReadThread thread(path, {}, [] {});
  for (std::uint64_t ticket = 0; ticket < 1000; ++ticket)
    thread.submit(ticket, query::ListJobs{0, 1});
}

}  // namespace
}  // namespace puzzled
