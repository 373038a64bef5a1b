// A journal gives back its whole records, in their order, and nothing of a record that is torn or changed.
#include "io/integrity/journal.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using JournalFile = testing::FileTest;

const std::vector<std::string> records{"one", std::string("\0\xff\n", 3), std::string(100'000, 'x'), ""};

std::vector<std::string> records_of(const Journal& journal) {
  std::vector<std::string> found;
  for (std::size_t k = 0; k < journal.earlier_count(); ++k) found.push_back(journal.earlier(k));
  return found;
}

std::vector<std::string> records_in(const std::string& path) {
  return records_of(Journal(path, Journal::Access::read_only));
}

void write_records(const std::string& path) {
  Journal journal(path, Journal::Access::appended);
  EXPECT_EQ(journal.earlier_count(), 0U);
  for (const std::string& record : records) journal.append(record);
}

TEST_F(JournalFile, records_come_back) {
  write_records(path("j"));
  EXPECT_EQ(records_in(path("j")), records);
}

TEST_F(JournalFile, a_torn_record_is_cut_off_and_others_may_follow) {
  write_records(path("j"));
  const std::vector<char> all = testing::file_bytes(path("j"));
  constexpr std::size_t head = 32;  // bytes of a record before its content
  const std::size_t last = all.size() - head, third = last - head - records[2].size();
  for (const auto& [length, whole] : {std::pair{all.size() - 1, 3U},
                                      {last, 3U},
                                      {last - 1, 2U},
                                      {third + 31, 2U},
                                      {third, 2U},
                                      {std::size_t{31}, 0U},
                                      {std::size_t{0}, 0U}}) {
    testing::write_bytes(path("j"), {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(length)});
    std::vector<std::string> expected(records.begin(), records.begin() + whole);
    {
      EXPECT_EQ(records_in(path("j")), expected) << length;
      EXPECT_EQ(testing::file_bytes(path("j")).size(), length) << "looking changes nothing";
      Journal journal(path("j"), Journal::Access::appended);
      EXPECT_EQ(records_of(journal), expected) << length;
      journal.append("more");
    }
    expected.emplace_back("more");
    EXPECT_EQ(records_in(path("j")), expected) << length;
  }
}

TEST_F(JournalFile, one_that_is_not_there_has_no_records_and_is_not_made_by_looking) {
  EXPECT_TRUE(records_in(path("j")).empty());
  EXPECT_FALSE(std::filesystem::exists(path("j")));
}

TEST_F(JournalFile, a_changed_byte_ends_it) {
  write_records(path("j"));
  const std::vector<char> all = testing::file_bytes(path("j"));
  for (const std::size_t at : {0UL, 5UL, 16UL, 33UL}) {  // length, hash and bytes of the first record
    std::vector<char> changed = all;
    changed[at] ^= 1;
    testing::write_bytes(path("j"), changed);
    EXPECT_TRUE(records_in(path("j")).empty()) << at;
  }
}

}  // namespace
}  // namespace smallbatch
