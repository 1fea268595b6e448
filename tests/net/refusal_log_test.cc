#include "daemon/net/refusal_log.h"

#include <gtest/gtest.h>

namespace puzzled {
namespace {

using Kind = RefusalLog::Kind;

TEST(RefusalLog, OneLineASecondOfEachKindAndTheRestCounted) {
  RefusalLog log(1'000);
  EXPECT_EQ(log.next_deadline(), kNever);
  EXPECT_EQ(log.note(5'000, Kind::kClient, "no tag"), "refused a message of clients: no tag");
  EXPECT_EQ(log.note(5'000, Kind::kWorker, "too old"), "refused a message of workers: too old");
  EXPECT_EQ(log.next_deadline(), kNever);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(log.note(5'500, Kind::kClient, "cut off"), "");
  EXPECT_EQ(log.next_deadline(), 6'000);
  EXPECT_TRUE(log.due(5'999).empty());
  EXPECT_EQ(log.due(6'000), std::vector<std::string>{
                                "refused 1000 more messages of clients, the last one: cut off"});
  EXPECT_EQ(log.next_deadline(), kNever);
  EXPECT_EQ(log.note(6'500, Kind::kClient, "again"), "") << "a second has not passed";
  EXPECT_EQ(log.note(6'500, Kind::kWorker, "again"), "refused a message of workers: again");
  EXPECT_EQ(log.due(7'000).size(), 1U);
  EXPECT_NE(log.note(8'000, Kind::kClient, "later"), "");
  EXPECT_EQ(log.total(Kind::kClient), 1'003U) << "whatever the log has heard of";
  EXPECT_EQ(log.total(Kind::kWorker), 2U);
  EXPECT_EQ(log.total(Kind::kNamedItself), 0U);
}

// However late it is asked, what was counted is told before what comes.
TEST(RefusalLog, ALateLookLosesNoCount) {
  RefusalLog log(1'000);
  log.note(0, Kind::kNamedItself, "a");
  EXPECT_EQ(log.note(10, Kind::kNamedItself, "b"), "");
  EXPECT_EQ(log.note(9'000, Kind::kNamedItself, "c"), "");
  EXPECT_EQ(log.due(9'000).at(0),
            "refused 2 more messages of connections that name themselves, the last one: c");
}

}  // namespace
}  // namespace puzzled
