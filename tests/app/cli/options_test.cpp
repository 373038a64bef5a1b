#include "app/cli/options.hpp"

#include <gtest/gtest.h>

#include "app/cli/exit_codes.hpp"
#include "app/cli/option_texts.hpp"
#include "core/error.hpp"

namespace smallbatch {
namespace {

template <class... Words>
Invocation parse(Words... words) {
  const char* const argv[] = {"smallbatch", words...};
  return parse_options(1 + sizeof...(words), argv);
}

TEST(Options, RunDefaults) {
  const auto run = std::get<RunOptions>(parse("run", "p.h5", "-o", "r.h5").command);
  EXPECT_EQ(run.problems, "p.h5");
  EXPECT_EQ(run.results, "r.h5");
  EXPECT_EQ(run.device.kind, DeviceRequest::Kind::automatic);
  EXPECT_EQ(run.verify.kind, VerifyMode::Kind::automatic);
  EXPECT_EQ(run.singular, Singular::infinite);
  EXPECT_EQ(run.spd.method, SpdMethod::automatic);
  EXPECT_EQ(run.spd.pivot_floor, 0);
  EXPECT_EQ(run.instruction_set, InstructionSet::best);
  EXPECT_FALSE(run.overwrite);
}

TEST(Options, RunChoices) {
  const auto call = parse("-q", "run", "p.h5", "-o", "r.h5", "--device", "cuda:3", "--verify", "sample=42",
                          "--singular", "skip", "--precision", "double", "--overwrite", "--instruction-set", "avx2");
  const auto run = std::get<RunOptions>(call.command);
  EXPECT_EQ(run.device.kind, DeviceRequest::Kind::cuda);
  EXPECT_EQ(run.device.indices, std::vector<int>{3});
  EXPECT_EQ(run.verify.kind, VerifyMode::Kind::sample);
  EXPECT_EQ(run.verify.sample, 42);
  EXPECT_EQ(run.singular, Singular::skip);
  EXPECT_EQ(run.precision, ScalarType::float64);
  EXPECT_EQ(run.instruction_set, InstructionSet::avx2);
  EXPECT_TRUE(run.overwrite);
  EXPECT_EQ(call.verbosity, Verbosity::quiet);
}

TEST(Options, MethodsAndFloors) {
  for (const auto& [name, method] :
       {std::pair{"auto", SpdMethod::automatic}, std::pair{"gauss_jordan", SpdMethod::gauss_jordan},
        std::pair{"ldlt", SpdMethod::ldlt}}) {
    const auto run =
        std::get<RunOptions>(parse("run", "p.h5", "-o", "r.h5", "--method", name, "--pivot-floor", "0x1p-20").command);
    EXPECT_EQ(run.spd.method, method);
    EXPECT_EQ(run.spd.pivot_floor, 0x1p-20);
  }
  for (const char* floor : {"1", "-0.5", "nan", "inf", "much"})
    EXPECT_THROW(parse("run", "p.h5", "-o", "r.h5", "--pivot-floor", floor), Error) << floor;
}

TEST(Options, ImportAsksForMoreThanPotentialsOnLattices) {
  const auto plain = std::get<ImportOptions>(parse("import", "m.pqr", "-o", "p.h5").command).asked;
  EXPECT_EQ(plain.targets, TargetKind::lattice);
  EXPECT_FALSE(plain.field);
  EXPECT_EQ(plain.softening, 0);
  EXPECT_EQ(plain.cutoff, 0);
  EXPECT_EQ(plain.dielectric, 1);
  const auto asked = std::get<ImportOptions>(parse("import", "m.pqr", "-o", "p.h5", "--targets", "charges", "--field",
                                                   "--softening", "0.5", "--cutoff", "12", "--dielectric", "80")
                                                 .command)
                         .asked;
  EXPECT_EQ(asked.targets, TargetKind::charges);
  EXPECT_TRUE(asked.field);
  EXPECT_EQ(asked.softening, 0.5);
  EXPECT_EQ(asked.cutoff, 12);
  EXPECT_EQ(asked.dielectric, 80);
  for (const auto& [option, value] : {std::pair{"--softening", "-1"},
                                      {"--softening", "nan"},
                                      {"--cutoff", "inf"},
                                      {"--cutoff", "-0.1"},
                                      {"--dielectric", "0"},
                                      {"--dielectric", "nan"},
                                      {"--targets", "points"}})
    EXPECT_THROW(parse("import", "m.pqr", "-o", "p.h5", option, value), Error) << option << " " << value;
  for (const char* option : {"--shape", "--spacing", "--margin"})
    EXPECT_THROW(parse("import", "m.pqr", "-o", "p.h5", "--targets", "charges", option, "3"), Error) << option;
}

TEST(Options, GenerateAsksForTrianglesAndDeterminants) {
  const auto spd = std::get<GenerateSpdOptions>(
      parse("generate", "spd", "-o", "p.h5", "--n", "64", "--uplo", "lower", "--compute", "log_determinant").command);
  EXPECT_EQ(spd.shape.n, 64);
  EXPECT_EQ(spd.shape.storage, Storage::dense_lower);
  EXPECT_TRUE(spd.shape.determinant_only);
  EXPECT_EQ(spd.shape.nrhs, 0);
  const auto both = std::get<GenerateSpdOptions>(parse("generate", "spd", "-o", "p.h5").command);
  EXPECT_EQ(both.shape.storage, Storage::dense);
  EXPECT_FALSE(both.shape.determinant_only);
  EXPECT_THROW(parse("generate", "spd", "-o", "p.h5", "--storage", "packed", "--uplo", "lower"), Error);
  EXPECT_THROW(parse("generate", "spd", "-o", "p.h5", "--compute", "log_determinant", "--nrhs", "2"), Error);
}

TEST(Options, GenerateAndImport) {
  const auto spd = std::get<GenerateSpdOptions>(
      parse("generate", "spd", "-o", "p.h5", "--storage", "packed", "--type", "float64", "--nrhs", "0").command);
  EXPECT_EQ(spd.shape.storage, Storage::packed_lower);
  EXPECT_EQ(spd.type, ScalarType::float64);
  EXPECT_TRUE(spd.shape.wants_inverse());
  const auto charges =
      std::get<GenerateChargesOptions>(parse("generate", "charges", "-o", "p.h5", "--shape", "7").command);
  EXPECT_EQ(charges.shape.nz, 7);
  const auto signal = std::get<GenerateSignalOptions>(
      parse("generate", "signal", "-o", "p.h5", "--type", "int4", "--delays", "-1,2.5").command);
  EXPECT_EQ(signal.type, SampleType::complex_int4);
  EXPECT_EQ(signal.delays, (std::vector<double>{-1, 2.5}));
  EXPECT_TRUE(std::get<GenerateSignalOptions>(parse("generate", "signal", "-o", "p.h5", "--delays", "").command)
                  .delays.empty());
  const auto import = std::get<ImportOptions>(
      parse("import", "a.pqr", "b.pqr", "-o", "p.h5", "--origin", "-1,2.5,0", "--unit", "kT/e").command);
  EXPECT_EQ(import.inputs.size(), 2U);
  EXPECT_EQ((*import.origin)[1], 2.5);
  EXPECT_EQ(import.unit, PotentialUnit::kt_per_e);
}

TEST(Options, SeveralGpusAndSizesOfMemory) {
  const auto device = [](const char* text) {
    return std::get<RunOptions>(parse("run", "p.h5", "-o", "r.h5", "--device", text).command).device;
  };
  EXPECT_TRUE(device("cuda").indices.empty());
  EXPECT_FALSE(device("cuda").all);
  EXPECT_TRUE(device("cuda:all").all);
  EXPECT_EQ(device("cuda:1,0,12").indices, (std::vector<int>{1, 0, 12}));
  EXPECT_EQ(device("cuda:all").kind, DeviceRequest::Kind::cuda);
  EXPECT_TRUE(device("cuda:all").indices.empty());
  for (const char* wrong : {"cuda:", "cuda:0,", "cuda:,0", "cuda:0,0", "cuda:-1", "cuda:0;1", "cuda:All"})
    EXPECT_THROW(device(wrong), Error) << wrong;
  const auto memory = [](const char* text) {
    return std::get<RunOptions>(parse("run", "p.h5", "-o", "r.h5", "--memory", text).command).memory;
  };
  EXPECT_EQ(memory("512MiB"), std::uint64_t{512} << 20);
  EXPECT_EQ(memory("2GB"), 2'000'000'000U);
  for (const char* wrong : {"0", "1000", "-1", "big"}) EXPECT_THROW(memory(wrong), Error) << wrong;
}

TEST(Options, ThreadsOfTheEnvironmentAreThoseOfOpenMP) {
  EXPECT_EQ(parse_threads("4"), 4U);
  EXPECT_EQ(parse_threads("3,2"), 3U);
  for (const char* none : {"", "x", "-1", "0", "99999", "4.5"}) EXPECT_EQ(parse_threads(none), 0U) << none;
}

TEST(Options, HelpShowsLiveDefaultsAndExitCodes) {
  const auto text = std::get<PrintText>(parse("run", "--help").command).text;
  EXPECT_NE(text.find("--memory"), std::string::npos);
  const std::string option = "--verify TEXT";  // followed by =auto or [auto], depending on CLI11's version
  EXPECT_TRUE(text.find(option + "=auto") != std::string::npos || text.find(option + " [auto]") != std::string::npos);
  EXPECT_NE(text.find("Verification"), std::string::npos);
  EXPECT_NE(std::get<PrintText>(parse("--help").command).text.find("Exit codes"), std::string::npos);
  EXPECT_EQ(std::get<PrintText>(parse("--version").command).text.rfind("smallbatch ", 0), 0U);
}

TEST(Options, NonsenseIsAUsageError) {
  try {
    parse("run", "p.h5", "-o", "r.h5", "--device", "quantum");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("quantum"), std::string::npos);
  }
}

TEST(ExitCodes, AreTheDocumentedOnes) {
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorKind::usage)), 2);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorKind::bad_input)), 3);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorKind::missing_file)), 4);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorKind::no_device)), 5);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorKind::out_of_memory)), 6);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorKind::output)), 7);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorKind::output_exists)), 7);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorKind::device_lost)), 8);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorKind::internal)), 70);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorKind::interrupted)), 130);
}

}  // namespace
}  // namespace smallbatch
