// A PQR file is read, or refused with a sentence. The sentence names the file, and a terminal obeys none of it.
#include <cmath>

#include "core/error.hpp"
#include "io/interchange/elements.hpp"
#include "io/interchange/molecule.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

using namespace smallbatch;
using namespace smallbatch::testing;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const MemoryFile file({bytes, count});
  try {
    const Molecule molecule = read_pqr(file.path());
    const std::size_t charges = molecule.charge.size();
    require(charges > 0 && molecule.position.size() == 3 * charges && molecule.atomic_number.size() == charges,
            "a molecule is not whole");
    for (const auto* numbers : {&molecule.position, &molecule.charge})
      require(std::ranges::all_of(*numbers, [](double value) { return std::isfinite(value); }), "a number is none");
    require(std::ranges::all_of(molecule.atomic_number, [](int z) { return z >= 0 && z <= last_atomic_number; }),
            "an element is none");
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(error.kind() == ErrorKind::bad_input, "another kind of error");
    require(message.starts_with(file.path()) && message.ends_with('.') && is_obeyed_nowhere(message), "no sentence");
  }
  return 0;
}
