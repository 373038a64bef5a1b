// Sentences in the caller's buffer, and units by name.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>

#include "c/smallbatch.h"

namespace smallbatch::testing {

TEST(Sentences, AreOfTheirComputation) {
  char text[100];
  const std::size_t length = smallbatch_describe_solve_info(3, text, sizeof(text));
  EXPECT_EQ(length, std::strlen(text));
  EXPECT_STREQ(text, "pivot 3 is not positive");
  (void)smallbatch_describe_potential_info(-1, text, sizeof(text));
  EXPECT_NE(std::string(text).find("NaN"), std::string::npos);
  (void)smallbatch_describe_pair_energy_info(2, text, sizeof(text));
  EXPECT_NE(std::string(text).find("2 pairs"), std::string::npos) << text;
  (void)smallbatch_describe_correlation_info(0, text, sizeof(text));
  EXPECT_STREQ(text, "correlated");
}

TEST(Sentences, AreCutToFit) {
  char text[] = "########";
  EXPECT_EQ(smallbatch_describe_solve_info(0, text, 4), 6U);  // "solved"
  EXPECT_STREQ(text, "sol");
  EXPECT_EQ(text[4], '#');
  EXPECT_EQ(smallbatch_describe_solve_info(0, text, 1), 6U);
  EXPECT_STREQ(text, "");
  EXPECT_EQ(smallbatch_describe_solve_info(0, nullptr, 0), 6U);
}

TEST(Units, HaveFactors) {
  double factor = 0;
  EXPECT_EQ(smallbatch_potential_unit_factor("volt", 0, &factor), SMALLBATCH_SUCCESS);
  EXPECT_NEAR(factor, 14.3996454784, 1e-9);  // CODATA 2018
  EXPECT_EQ(smallbatch_potential_unit_factor("kT/e", 298.15, &factor), SMALLBATCH_SUCCESS);
  EXPECT_NEAR(factor, 560.459322, 1e-5);
  EXPECT_EQ(smallbatch_length_unit_in_angstrom("nm", &factor), SMALLBATCH_SUCCESS);
  EXPECT_EQ(factor, 10);
  EXPECT_EQ(smallbatch_charge_unit_in_e("C", &factor), SMALLBATCH_SUCCESS);
  EXPECT_NEAR(factor * 1.602176634e-19, 1, 1e-15);
}

TEST(Units, ThatAreNoneAreRefused) {
  double factor = -77;
  EXPECT_EQ(smallbatch_potential_unit_factor("furlong", 0, &factor), SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_NE(std::string(smallbatch_last_error(nullptr)).find("furlong"), std::string::npos);
  std::string name = "\x1b[31m";
  for (int i = 0; i < 1000; ++i) name += "\xc3\xa9";  // é
  EXPECT_EQ(smallbatch_potential_unit_factor(name.c_str(), 0, &factor), SMALLBATCH_INVALID_ARGUMENT);
  const std::string sentence = smallbatch_last_error(nullptr);
  EXPECT_NE(sentence.find("\"\\x1b[31m\xc3\xa9"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("\xa9...\" (its name is not known). Use"), std::string::npos) << sentence;
  EXPECT_EQ(smallbatch_potential_unit_factor("kT/e", 0, &factor), SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_EQ(smallbatch_potential_unit_factor("kT/e", -1e-9, &factor), SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_NE(std::string(smallbatch_last_error(nullptr)).find("-1e-09 K"), std::string::npos);
  for (const double temperature : {HUGE_VAL, 1e-320, -1.0})
    EXPECT_EQ(smallbatch_potential_unit_factor("kT/e", temperature, &factor), SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_EQ(smallbatch_length_unit_in_angstrom(nullptr, &factor), SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_EQ(smallbatch_charge_unit_in_e("e", nullptr), SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_EQ(factor, -77);
}

}  // namespace smallbatch::testing
