// Handles and invalid calls. An invalid call returns a status, stores a sentence, and computes nothing. One file,
// because all tests start from the same valid calls.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "c/context.hpp"

namespace smallbatch::testing {

namespace {

/// A handle of the CPU, and a valid call of each kind. Each test makes an argument invalid.
class Misuse : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(smallbatch_create(&handle_, SMALLBATCH_CPU, 0), SMALLBATCH_SUCCESS);
    smallbatch_systems_init(&systems_, SMALLBATCH_FLOAT64, SMALLBATCH_HOST, 2, 1, 1);
    systems_.a = a_;
    systems_.b = b_;
    smallbatch_solutions_init(&solutions_);
    solutions_.x = x_;
    solutions_.info = info_;
    smallbatch_factors_init(&factors_);
    factors_.factor = factor_;
    factors_.info = factor_info_;
    smallbatch_charges_init(&charges_, SMALLBATCH_HOST, 1, 2);
    charges_.position = position_;
    charges_.charge = charge_;
    smallbatch_lattice_init(&lattice_, 2, 2, 2);
    lattice_.origin = origin_;
    lattice_.spacing = spacing_;
    smallbatch_potentials_init(&potentials_, SMALLBATCH_FLOAT64);
    potentials_.potential = values_;
    potentials_.info = info_;
    smallbatch_pair_energies_init(&energies_, SMALLBATCH_FLOAT64);
    energies_.energy = values_;
    energies_.info = info_;
    smallbatch_potential_options_init(&options_);
    smallbatch_signals_init(&signals_, SMALLBATCH_HOST, SMALLBATCH_SAMPLE_FLOAT32, 1, 2, 2);
    signals_.signal = signal_;
    smallbatch_visibilities_init(&visibilities_, &signals_);
    visibilities_.visibility = values_;
    visibilities_.info = info_;
  }
  void TearDown() override { smallbatch_destroy(handle_); }

  smallbatch_status solve() { return smallbatch_solve(handle_, &systems_, &solutions_, nullptr, nullptr, 0); }
  smallbatch_status factor() { return smallbatch_factor(handle_, &systems_, &factors_, nullptr, 0); }
  smallbatch_status solve_factored() {
    return smallbatch_solve_factored(handle_, &factors_, &systems_, &solutions_, nullptr, 0);
  }
  smallbatch_status potential() {
    return smallbatch_potential(handle_, &charges_, &lattice_, &potentials_, &options_, nullptr, 0);
  }
  smallbatch_status pair_energy() {
    return smallbatch_pair_energy(handle_, &charges_, &energies_, &options_, nullptr, 0);
  }
  smallbatch_status correlate() { return smallbatch_correlate(handle_, &signals_, &visibilities_, nullptr, 0); }

  /// Checks that the call was refused with a sentence that has `word`, a reason and a remedy.
  void refused(smallbatch_status status, const std::string& word) {
    const std::string sentence = smallbatch_last_error(handle_);
    EXPECT_EQ(status, SMALLBATCH_INVALID_ARGUMENT) << sentence;
    EXPECT_NE(sentence.find(word), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(" ("), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("). "), std::string::npos) << sentence;
    EXPECT_EQ(x_[0], -77);
    EXPECT_EQ(values_[0], -77);
    EXPECT_EQ(info_[0], -99);
  }

  smallbatch_handle handle_ = nullptr;
  smallbatch_systems systems_{};
  smallbatch_solutions solutions_{};
  smallbatch_factors factors_{};
  smallbatch_charges charges_{};
  smallbatch_targets lattice_{};
  smallbatch_potentials potentials_{};
  smallbatch_pair_energies energies_{};
  smallbatch_potential_options options_{};
  smallbatch_signals signals_{};
  smallbatch_visibilities visibilities_{};
  double a_[4] = {2, 1, 1, 2}, b_[2] = {3, 3}, x_[2] = {-77, -77}, factor_[3] = {};
  double position_[6] = {0.5, 0.5, 0.5, 1.5, 0.5, 0.5}, charge_[2] = {1, -1}, origin_[3] = {}, spacing_[3] = {1, 1, 1};
  double values_[24] = {-77};
  std::int32_t info_[2] = {-99, -99}, factor_info_[2] = {};
  float signal_[8] = {1, 0, 0, 1, 1, 0, 0, 1};
};

}  // namespace

TEST_F(Misuse, IsNoneOfTheCallsAsTheyAre) {
  EXPECT_EQ(solve(), SMALLBATCH_SUCCESS);
  EXPECT_EQ(factor(), SMALLBATCH_SUCCESS);
  EXPECT_EQ(solve_factored(), SMALLBATCH_SUCCESS);
  EXPECT_EQ(potential(), SMALLBATCH_SUCCESS);
  EXPECT_EQ(pair_energy(), SMALLBATCH_SUCCESS);
  EXPECT_EQ(correlate(), SMALLBATCH_SUCCESS);
  EXPECT_STREQ(smallbatch_last_error(handle_), "");
}

TEST_F(Misuse, WithoutAHandleIsAnswered) {
  EXPECT_EQ(smallbatch_solve(nullptr, &systems_, &solutions_, nullptr, nullptr, 0), SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_NE(std::string(smallbatch_last_error(nullptr)).find("no handle"), std::string::npos);
  EXPECT_EQ(smallbatch_create(nullptr, SMALLBATCH_CPU, 0), SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_EQ(smallbatch_set_threads(nullptr, 1), SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_EQ(smallbatch_get_backend(nullptr, nullptr, nullptr), SMALLBATCH_INVALID_ARGUMENT);
  smallbatch_destroy(nullptr);
}

TEST_F(Misuse, OfNullStructsIsRefused) {
  refused(smallbatch_solve(handle_, nullptr, &solutions_, nullptr, nullptr, 0), "systems is NULL");
  refused(smallbatch_solve(handle_, &systems_, nullptr, nullptr, nullptr, 0), "solutions is NULL");
  refused(smallbatch_factor(handle_, &systems_, nullptr, nullptr, 0), "factors is NULL");
  refused(smallbatch_solve_workspace(handle_, &systems_, &solutions_, nullptr, nullptr), "workspace_bytes");
  refused(smallbatch_potential(handle_, nullptr, &lattice_, &potentials_, nullptr, nullptr, 0), "charges is NULL");
  refused(smallbatch_potential(handle_, &charges_, nullptr, &potentials_, nullptr, nullptr, 0), "targets is NULL");
  refused(smallbatch_potential(handle_, &charges_, &lattice_, nullptr, nullptr, nullptr, 0), "potentials is NULL");
  refused(smallbatch_pair_energy(handle_, &charges_, nullptr, nullptr, nullptr, 0), "energies is NULL");
  refused(smallbatch_correlate(handle_, nullptr, &visibilities_, nullptr, 0), "signals is NULL");
  refused(smallbatch_correlate(handle_, &signals_, nullptr, nullptr, 0), "visibilities is NULL");
}

TEST_F(Misuse, OfSizesIsRefused) {
  for (const std::int64_t n : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{257}, std::int64_t{1} << 40}) {
    systems_.n = n;
    refused(solve(), "systems->n is " + std::to_string(n));
    refused(factor(), "systems->n");
  }
  systems_.n = 2;
  for (const std::int64_t nrhs : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 24}) {
    systems_.nrhs = nrhs;
    refused(solve(), "systems->nrhs is " + std::to_string(nrhs));
  }
  systems_.nrhs = 1;
  systems_.count = -1;
  refused(solve(), "systems->count is -1");
  systems_.count = std::numeric_limits<std::int64_t>::max();
  refused(solve(), "too many numbers");
}

TEST_F(Misuse, OfLayoutsIsRefused) {
  systems_.lda = 1;
  refused(solve(), "leading dimension of systems->a is 1");
  systems_.lda = 0;
  systems_.order = SMALLBATCH_COLUMN_MAJOR;
  systems_.ldb = 1;
  refused(solve(), "leading dimension of systems->b is 1");
  systems_.ldb = 0;
  solutions_.ldx = -2;
  refused(solve(), "leading dimension of solutions->x is -2");
  solutions_.ldx = 0;
  systems_.a_stride = -2;
  refused(solve(), "stride of systems->a is -2");
  systems_.a_stride = SMALLBATCH_TIGHT;
  systems_.count = 2;
  solutions_.x_stride = 0;
  refused(solve(), "stride of solutions->x is 0");
  solutions_.x_stride = 1;
  refused(solve(), "stride of solutions->x is 1");
  solutions_.x_stride = SMALLBATCH_TIGHT;
  void* const to[] = {x_, x_ + 1};  // pointers need no stride
  solutions_.x = nullptr;
  solutions_.x_array = to;
  solutions_.x_stride = -7;
  systems_.n = 1;
  EXPECT_EQ(solve(), SMALLBATCH_SUCCESS) << smallbatch_last_error(handle_);
  systems_.n = 2;
  x_[0] = -77;
  info_[0] = -99;
  factors_.stride = 0;
  refused(factor(), "stride of factors->factor is 0");
  factors_.stride = 2;
  refused(solve_factored(), "stride of factors->factor is 2");
  factors_.stride = std::numeric_limits<std::int64_t>::max();  // allowed with a single system
  systems_.count = 2;
  refused(factor(), "factors->factor has too many numbers");
  refused(solve_factored(), "factors->factor has too many numbers");
}

TEST_F(Misuse, OfMissingArraysIsRefused) {
  systems_.a = nullptr;
  refused(solve(), "systems->a and systems->a_array are both NULL");
  const void* const of_a[] = {a_};
  systems_.a = a_;
  systems_.a_array = of_a;
  refused(solve(), "both given");
  systems_.a_array = nullptr;
  systems_.b = nullptr;
  refused(solve(), "systems->b");
  systems_.b = b_;
  solutions_.x = nullptr;
  refused(solve(), "solutions->x");
  solutions_.x = x_;
  solutions_.info = nullptr;
  refused(solve(), "solutions->info is NULL");
  solutions_.info = info_;
  factors_.factor = nullptr;
  refused(factor(), "factors->factor is NULL");
  charges_.position = nullptr;
  refused(potential(), "charges->position is NULL");
  refused(pair_energy(), "charges->position is NULL");
  charges_.position = position_;
  lattice_.spacing = nullptr;
  refused(potential(), "targets->spacing is NULL");
  lattice_.spacing = spacing_;
  potentials_.potential = nullptr;
  refused(potential(), "potentials->potential is NULL");
  potentials_.potential = values_;
  potentials_.energy = values_;
  refused(potential(), "charges->group");
  energies_.energy = nullptr;
  refused(pair_energy(), "energies->energy is NULL");
  signals_.signal = nullptr;
  refused(correlate(), "signals->signal is NULL");
}

TEST_F(Misuse, OfPointersToNowhereIsRefused) {
  double more_x[2] = {};
  const void* of_a[] = {a_, nullptr};
  const void* of_b[] = {b_, nullptr};
  void* of_x[] = {x_, nullptr};
  systems_.count = 2;
  systems_.a = systems_.b = solutions_.x = nullptr;
  systems_.a_array = of_a;
  systems_.b_array = of_b;
  solutions_.x_array = of_x;
  refused(solve(), "systems->a_array[1] is NULL");
  refused(factor(), "systems->a_array[1] is NULL");
  of_a[1] = a_;
  refused(solve(), "systems->b_array[1] is NULL");
  of_b[1] = b_;
  refused(solve(), "solutions->x_array[1] is NULL");
  of_x[1] = more_x;
  EXPECT_EQ(solve(), SMALLBATCH_SUCCESS) << smallbatch_last_error(handle_);
}

TEST_F(Misuse, OfXInThePlaceOfOthersIsRefused) {
  solutions_.x = a_;
  refused(solve(), "x lies in the memory of A");
  systems_.count = 2;
  systems_.a_stride = 0;
  solutions_.x = b_;
  solutions_.x_stride = 3;
  systems_.b_stride = 2;
  refused(solve(), "another leading dimension or stride");
}

TEST_F(Misuse, OfXInThePlaceOfFactorsIsRefused) {
  solutions_.x = factor_;
  refused(solve_factored(), "x lies in the memory of the factors");
}

TEST_F(Misuse, OfEnumeratorsIsRefused) {
  const auto spoil = [](auto& member) {
    const int none = 99;
    static_assert(sizeof(member) == sizeof(none));
    std::memcpy(&member, &none, sizeof(none));
  };
  smallbatch_solve_options options{};
  spoil(options.method);
  refused(smallbatch_solve(handle_, &systems_, &solutions_, &options, nullptr, 0), "options->method is 99");
  options = {SMALLBATCH_AUTOMATIC, 1};
  refused(smallbatch_solve(handle_, &systems_, &solutions_, &options, nullptr, 0), "options->pivot_floor");
  options.pivot_floor = std::numeric_limits<double>::quiet_NaN();
  refused(smallbatch_solve(handle_, &systems_, &solutions_, &options, nullptr, 0), "options->pivot_floor");
  spoil(systems_.storage);
  refused(solve(), "systems->storage is 99");
  spoil(systems_.order);
  refused(solve(), "systems->order is 99");
  spoil(systems_.type);
  refused(solve(), "systems->type is 99");
  spoil(systems_.memory);
  refused(solve(), "memory is 99");
  spoil(options_.singular);
  refused(potential(), "options->singular is 99");
  spoil(lattice_.kind);
  refused(potential(), "targets->kind is 99");
  spoil(potentials_.type);
  refused(potential(), "potentials->type is 99");
  spoil(visibilities_.type);
  refused(correlate(), "visibilities->type is 99");
  spoil(signals_.type);
  refused(correlate(), "signals->type is 99");
}

TEST_F(Misuse, OfDeviceArraysByTheCpuIsRefused) {
  systems_.memory = charges_.memory = signals_.memory = SMALLBATCH_DEVICE;
  refused(solve(), "device memory");
  refused(factor(), "device memory");
  refused(potential(), "device memory");
  refused(pair_energy(), "device memory");
  refused(correlate(), "device memory");
  std::size_t bytes = 0;
  refused(smallbatch_solve_workspace(handle_, &systems_, &solutions_, nullptr, &bytes), "SMALLBATCH_CUDA");
  refused(smallbatch_set_stream(handle_, &bytes), "no stream");
  refused(smallbatch_set_threads(handle_, -1), "threads is -1");
}

TEST_F(Misuse, OfChargesAndTargetsIsRefused) {
  charges_.count = 3;
  refused(potential(), "charges->offset is NULL");  // two charges, three problems
  charges_.count = 1;
  const std::int64_t offset[] = {0, 1}, from_one[] = {1, 2};
  charges_.offset = offset;
  refused(potential(), "runs from 0 to 1");
  charges_.offset = from_one;
  refused(pair_energy(), "runs from 1 to 2");
  charges_.offset = nullptr;
  charges_.charge_count = -1;
  refused(potential(), "charges->charge_count is -1");
  charges_.charge_count = 2;
  charges_.xyzq = position_;
  refused(potential(), "given twice");
  charges_.xyzq = nullptr;
  lattice_.plane_count = 3;
  refused(potential(), "planes");
  lattice_.plane_count = 2;
  lattice_.smallest_spacing = -1;
  refused(potential(), "smallest_spacing");
  lattice_.smallest_spacing = 0;
  options_.cutoff = -1;
  refused(potential(), "cut-off");
  refused(pair_energy(), "cut-off");
}

TEST_F(Misuse, OfSignalsIsRefused) {
  signals_.inputs = 4097;
  refused(correlate(), "inputs");
  signals_.inputs = 2;
  signals_.integrate = 0;
  refused(correlate(), "integration");
  signals_.integrate = 1;
  visibilities_.type = SMALLBATCH_SUM_INT32;
  refused(correlate(), "type of the sums");
}

TEST_F(Misuse, OfOtherNumbersFromFactorsIsRefused) {
  solutions_.rcond = values_;
  refused(solve_factored(), "other than x and info");
}

TEST(Handle, OfTheCpuSaysSo) {
  smallbatch_handle handle = nullptr;
  ASSERT_EQ(smallbatch_create(&handle, SMALLBATCH_REFERENCE, 7), SMALLBATCH_SUCCESS);
  smallbatch_backend backend = SMALLBATCH_AUTO;
  int device = 7;
  EXPECT_EQ(smallbatch_get_backend(handle, &backend, &device), SMALLBATCH_SUCCESS);
  EXPECT_EQ(backend, SMALLBATCH_REFERENCE);
  EXPECT_EQ(device, -1);
  smallbatch_destroy(handle);
}

TEST(Handle, IsAutomaticallyOfWhatIsThere) {
  smallbatch_handle handle = nullptr;
  ASSERT_EQ(smallbatch_create(&handle, SMALLBATCH_AUTO, 0), SMALLBATCH_SUCCESS);
  smallbatch_backend backend = SMALLBATCH_AUTO;
  EXPECT_EQ(smallbatch_get_backend(handle, &backend, nullptr), SMALLBATCH_SUCCESS);
  EXPECT_EQ(backend, smallbatch_device_count() > 0 ? SMALLBATCH_CUDA : SMALLBATCH_CPU);
  smallbatch_destroy(handle);
}

TEST_F(Misuse, IsNoneOfFactorsWhoseSolverTheHandleHasForOtherOptions) {
  const smallbatch_solve_options options{SMALLBATCH_GAUSS_JORDAN, 0};
  ASSERT_EQ(smallbatch_solve(handle_, &systems_, &solutions_, &options, nullptr, 0), SMALLBATCH_SUCCESS);
  const SpdSolver* const solver = &handle_->solver();
  EXPECT_NE(handle_->solver().description().find("gauss_jordan"), std::string::npos);
  EXPECT_EQ(factor(), SMALLBATCH_SUCCESS);
  EXPECT_EQ(solve_factored(), SMALLBATCH_SUCCESS);
  EXPECT_EQ(&handle_->solver(), solver);
  EXPECT_NE(handle_->solver().description().find("gauss_jordan"), std::string::npos);
  EXPECT_EQ(x_[0], 1);
}

TEST(Handle, OfADeviceThatIsNotThereIsNone) {
  int anything = 0;
  auto* handle = reinterpret_cast<smallbatch_handle>(&anything);
  EXPECT_EQ(smallbatch_create(&handle, SMALLBATCH_CUDA, smallbatch_device_count()), SMALLBATCH_NO_DEVICE);
  EXPECT_EQ(handle, nullptr);
  EXPECT_NE(std::string(smallbatch_last_error(nullptr)), "");
}

TEST(Handle, ErrorsWithoutOneAreTheThreadsOwn) {
  smallbatch_handle handle = nullptr;
  EXPECT_NE(smallbatch_create(nullptr, SMALLBATCH_CPU, 0), SMALLBATCH_SUCCESS);
  std::string elsewhere = "not asked";
  std::thread([&] { elsewhere = smallbatch_last_error(nullptr); }).join();
  EXPECT_EQ(elsewhere, "");
  EXPECT_NE(std::string(smallbatch_last_error(nullptr)), "");
  EXPECT_EQ(smallbatch_create(&handle, SMALLBATCH_CPU, 0), SMALLBATCH_SUCCESS);
  EXPECT_STREQ(smallbatch_last_error(handle), "");
  smallbatch_destroy(handle);
}

TEST(Status, HasAText) {
  EXPECT_STREQ(smallbatch_status_text(SMALLBATCH_SUCCESS), "success");
  EXPECT_STREQ(smallbatch_status_text(SMALLBATCH_NO_DEVICE), "no device");
  EXPECT_STREQ(smallbatch_status_text(static_cast<smallbatch_status>(7)), "unknown status");
}

}  // namespace smallbatch::testing
