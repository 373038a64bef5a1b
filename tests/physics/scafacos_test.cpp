// Systems of charges with potential and field at every charge, from the tests of the ScaFaCoS project (open boundaries,
// direct summation). The tests need the project's files. SMALLBATCH_REFERENCE_DATA names the directory with
// <name>.xml.gz; without it the tests are skipped.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "physics/charges/pair_energy_referee.hpp"
#include "tests/physics/potential_fixture.hpp"

namespace smallbatch::testing {
namespace {

struct ReferenceSystem {
  Problem problem;
  std::vector<double> potential, field;
};

/// Reads a file. It has one line per <particle position="x y z" q="q" potential="v" field="ex ey ez"/>.
ReferenceSystem read_system(const std::string& path) {
  ReferenceSystem system;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return system;
  char line[4096];
  while (gzgets(file.get(), line, sizeof(line)) != nullptr) {
    const char* const particle = std::strstr(line, "<particle ");
    if (particle == nullptr) continue;
    double x, y, z, q, v, ex, ey, ez;
    const int found =
        std::sscanf(particle, R"(<particle position="%lf %lf %lf" q="%lf" potential="%lf" field="%lf %lf %lf")", &x, &y,
                    &z, &q, &v, &ex, &ey, &ez);
    EXPECT_EQ(found, 8) << line;
    system.problem.add(x, y, z, q);
    system.potential.push_back(v);
    system.field.insert(system.field.end(), {ex, ey, ez});
  }
  return system;
}

struct ReferenceFile {
  const char* name;
  std::size_t charges;
};

class ScafacosTest : public PotentialBackendTest {
 protected:
  void SetUp() override {
    PotentialBackendTest::SetUp();
    if (IsSkipped()) return;
    const char* const directory = std::getenv("SMALLBATCH_REFERENCE_DATA");
    if (directory == nullptr) GTEST_SKIP() << "SMALLBATCH_REFERENCE_DATA names no directory with the systems";
    directory_ = directory;
  }

  void expect_potential_and_field(const ReferenceFile& file) {
    const ReferenceSystem system = read_system(directory_ + "/" + file.name + ".xml.gz");
    ASSERT_EQ(system.problem.charge.size(), file.charges) << "in " << directory_ << '/' << file.name << ".xml.gz";
    const std::vector<double>& position = system.problem.position;
    const Batch batch(at_charges, {system.problem});
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const auto answer = evaluate_everything<T>(*potential_, at_charges, {system.problem});
      EXPECT_EQ(answer.info[0], 0);
      const double largest = static_cast<double>(extent(system.problem, at_charges));
      const double relative = sizeof(T) == 4 ? 0x1p-22 : 0x1p-51;
      Comparison potential, field;
      for (std::size_t i = 0; i < file.charges; ++i) {
        // Tolerance: the bounds of physics/potential.hpp, and 1e-13 for the reference's own rounding.
        double bound = 0, field_bound = 0, magnitude = 0, field_magnitude = 0;
        for (std::size_t j = 0; j < file.charges; ++j) {
          if (i == j) continue;
          const double x = position[3 * i] - position[3 * j], y = position[3 * i + 1] - position[3 * j + 1];
          const double z = position[3 * i + 2] - position[3 * j + 2];
          const double reciprocal = 1 / std::sqrt(x * x + y * y + z * z);
          const double term = std::abs(system.problem.charge[j]) * reciprocal;
          const double error = term * relative * (1 + largest * reciprocal / 2);
          bound += error;
          field_bound += 4 * error * reciprocal;
          magnitude += term;
          field_magnitude += term * reciprocal;
        }
        bound += 1e-13 * magnitude;
        field_bound += 1e-13 * field_magnitude;
        const auto index = static_cast<std::int64_t>(i);
        potential.add(error_over_bound(answer.potential[i], system.potential[i], bound), index);
        for (std::size_t k = 3 * i; k < 3 * i + 3; ++k)
          field.add(error_over_bound(answer.field[k], system.field[k], field_bound), index);
      }
      expect_agrees(potential);
      expect_agrees(field);
    });
  }

  /// Compares the energy per charge with q_i V_i / 2, where V_i is the potential in the file. Compares the energy of
  /// all pairs with the sum of these numbers.
  void expect_pair_energies(const ReferenceFile& file) {
    const ReferenceSystem system = read_system(directory_ + "/" + file.name + ".xml.gz");
    ASSERT_EQ(system.problem.charge.size(), file.charges) << "in " << directory_ << '/' << file.name << ".xml.gz";
    const Batch batch(at_charges, {system.problem});
    ChargeBatch charges = batch.charges();
    charges.group = nullptr;
    const auto pairs = make_pair_energy(backend_);
    for (const ScalarType precision : {ScalarType::float32, ScalarType::float64}) {
      const double part =
          (precision == ScalarType::float32 ? pair_energy_bounds_float : pair_energy_bounds_double).of_terms;
      double energy = 0;
      std::int32_t info = -99;
      std::vector<double> of_charge(file.charges);
      pairs->evaluate(charges, {Singular::infinite, precision}, {&energy, &info, of_charge.data()});
      EXPECT_EQ(info, 0);
      const ReferencePairEnergy bounds =
          reference_pair_energy(charges, 0, {Singular::infinite, precision}, true, backend_.threads);
      Comparison found;
      double sum = 0, own_error = 0;
      for (std::size_t i = 0; i < file.charges; ++i) {
        const double half = system.problem.charge[i] * system.potential[i] / 2;
        // Tolerance: the bound, and 1e-13 of the sum of magnitudes for the reference's own rounding.
        const double rounding = 1e-13 * bounds.charge_bounds[i] / part;
        found.add(error_over_bound(of_charge[i], half, bounds.charge_bounds[i] + rounding),
                  static_cast<std::int64_t>(i));
        sum += half;
        own_error += rounding;
      }
      found.add(error_over_bound(energy, sum, bounds.bound + own_error), -1);
      expect_agrees(found);
    }
  }

  std::string directory_;
};

INSTANTIATE_TEST_SUITE_P(Backends, ScafacosTest, all_backends, backend_test_name);

TEST_P(ScafacosTest, CloudWall) { expect_potential_and_field({"cloud_wall_300", 300}); }
TEST_P(ScafacosTest, HammersleyBall) { expect_potential_and_field({"hammersley_ball_pos_1e4", 10000}); }
TEST_P(ScafacosTest, SilicaMelt) { expect_potential_and_field({"silica_melt_12960", 12960}); }

TEST_P(ScafacosTest, PairsOfCloudWall) { expect_pair_energies({"cloud_wall_300", 300}); }
TEST_P(ScafacosTest, PairsOfHammersleyBall) { expect_pair_energies({"hammersley_ball_pos_1e4", 10000}); }
TEST_P(ScafacosTest, PairsOfSilicaMelt) { expect_pair_energies({"silica_melt_12960", 12960}); }

}  // namespace
}  // namespace smallbatch::testing
