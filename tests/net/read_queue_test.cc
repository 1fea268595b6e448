#include "daemon/net/read_queue.h"

#include <gtest/gtest.h>

namespace puzzled {
namespace {

constexpr auto kAll = [](PeerId) { return true; };

ReadQueue::Read read(std::uint64_t peer, std::uint64_t request) {
  return {PeerId{peer}, request, query::GetJob{{request}}};
}

TEST(ReadQueue, ClientsTakeTurns) {
  ReadQueue queue({.waiting_max = 100, .client_waiting_max = 100, .under_way_max = 100});
  for (const std::uint64_t request : {1, 2, 3}) EXPECT_TRUE(queue.add(read(1, request)));
  for (const std::uint64_t request : {4, 5}) EXPECT_TRUE(queue.add(read(2, request)));
  std::vector<std::uint64_t> order;
  while (const auto started = queue.start(kAll)) {
    order.push_back(std::get<query::GetJob>(started->query).job.value);
    EXPECT_EQ(queue.finish(started->ticket).request, order.back());
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 4, 2, 5, 3}));
  EXPECT_EQ(queue.waiting(), 0U);
}

TEST(ReadQueue, EveryLimitHolds) {
  ReadQueue queue({.waiting_max = 3, .client_waiting_max = 2, .under_way_max = 1});
  EXPECT_TRUE(queue.add(read(1, 1)));
  EXPECT_TRUE(queue.add(read(1, 2)));
  EXPECT_FALSE(queue.add(read(1, 3))) << "of this client";
  EXPECT_TRUE(queue.add(read(2, 4)));
  EXPECT_FALSE(queue.add(read(3, 5))) << "of all";
  const auto first = queue.start(kAll);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(queue.start(kAll).has_value()) << "under way";
  EXPECT_EQ(queue.finish(first->ticket).peer, PeerId{1});
  EXPECT_TRUE(queue.start(kAll).has_value());
}

TEST(ReadQueue, WhoDoesNotReadWaitsAndHoldsUpNobody) {
  ReadQueue queue({.waiting_max = 9, .client_waiting_max = 9, .under_way_max = 9});
  for (const std::uint64_t request : {1, 2}) queue.add(read(1, request));
  queue.add(read(2, 3));
  const auto not_the_first = [](PeerId peer) { return peer != PeerId{1}; };
  const auto started = queue.start(not_the_first);
  ASSERT_TRUE(started.has_value());
  EXPECT_EQ(queue.finish(started->ticket).peer, PeerId{2});
  EXPECT_FALSE(queue.start(not_the_first).has_value());
  EXPECT_EQ(queue.waiting(), 2U);
  EXPECT_TRUE(queue.start(kAll).has_value());
}

TEST(ReadQueue, AClientThatIsGoneLeavesNothing) {
  ReadQueue queue({.waiting_max = 9, .client_waiting_max = 9, .under_way_max = 9});
  for (const std::uint64_t request : {1, 2}) queue.add(read(1, request));
  const auto started = queue.start(kAll);
  queue.forget(PeerId{1});
  queue.forget(PeerId{7});
  EXPECT_EQ(queue.waiting(), 0U);
  EXPECT_FALSE(queue.start(kAll).has_value());
  EXPECT_EQ(queue.finish(started->ticket).request, 1U);
  EXPECT_TRUE(queue.add(read(1, 3)));
}

}  // namespace
}  // namespace puzzled
