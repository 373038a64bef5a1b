// Writes a problem file for `smallbatch run problems.h5 -o results.h5`, and reads it back.
#include <cstdio>

#include <smallbatch/core/error.hpp>
#include <smallbatch/io/problem_reader.hpp>
#include <smallbatch/io/problem_writer.hpp>

int main() {
  try {
    smallbatch::SolveSet set;
    set.name = "springs";
    set.type = smallbatch::ScalarType::float64;
    set.shape.n = 2;
    set.batch = 3;

    smallbatch::SpdBlock<double> block;
    block.resize(set.shape, set.batch);
    for (std::size_t k = 0; k < 3; ++k) {
      const double stiffness = 1 + static_cast<double>(k);
      const double a[] = {2 * stiffness, -stiffness, -stiffness, 2 * stiffness}, b[] = {1, 0};
      for (std::size_t i = 0; i < 4; ++i) block.a[4 * k + i] = a[i];
      for (std::size_t i = 0; i < 2; ++i) block.b[2 * k + i] = b[i];
    }

    smallbatch::ProblemWriter writer("problems.h5", true);  // true: overwrite an existing file
    writer.add(set);
    writer.write(set, block);
    writer.provenance("made_by", "examples/files");
    writer.commit();

    const smallbatch::ProblemReader reader("problems.h5");
    const smallbatch::SolveSet& found = reader.solve_sets().at(0);
    smallbatch::SpdBlock<double> again;
    reader.read(found, 0, found.batch, again);
    std::printf("%s: %lld systems with n = %d, the last element of the last one is %g\n", found.name.c_str(),
                static_cast<long long>(found.batch), found.shape.n, again.a.back());
    return again.a == block.a && again.b == block.b ? 0 : 1;
  } catch (const smallbatch::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
