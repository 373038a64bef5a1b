/* Solves a thousand small systems and evaluates the potential of two ions. All arrays lie in host memory. A GPU
 * computes if the machine has one, otherwise all cores. Prints the answers, and ends with 1 if they are wrong. C99. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <smallbatch.h>

/* System k has A = tridiagonal (-1, 2 + 1/(k+1), -1) and b = A (1, 1, ..., 1), so every x is 1. */
static int solve(smallbatch_handle handle) {
  enum { count = 1000, n = 24 };
  double* a = calloc((size_t)count * n * n, sizeof(double));
  double* x = calloc((size_t)count * n, sizeof(double));
  double* backward_error = calloc(count, sizeof(double));
  int32_t* info = calloc(count, sizeof(int32_t));
  smallbatch_systems systems;
  smallbatch_solutions solutions;
  smallbatch_status status;
  double error = 0;
  char sentence[100];

  if (a == NULL || x == NULL || backward_error == NULL || info == NULL) return 1;
  for (int k = 0; k < count; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        const double element = i == j ? 2 + 1.0 / (k + 1) : abs(i - j) == 1 ? -1 : 0;
        if (j <= i) a[(k * n + i) * n + j] = element; /* the lower triangle is enough */
        x[k * n + i] += element;                      /* b; the solution x replaces it */
      }

  smallbatch_systems_init(&systems, SMALLBATCH_FLOAT64, SMALLBATCH_HOST, n, 1, count);
  systems.storage = SMALLBATCH_LOWER;
  systems.a = a;
  systems.b = x;
  smallbatch_solutions_init(&solutions);
  solutions.x = x;
  solutions.info = info;
  solutions.backward_error = backward_error;
  status = smallbatch_solve(handle, &systems, &solutions, NULL, NULL, 0);
  if (status != SMALLBATCH_SUCCESS) fprintf(stderr, "%s\n", smallbatch_last_error(handle));

  for (int k = 0; k < count; ++k) {
    if (info[k] != 0) {
      smallbatch_describe_solve_info(info[k], sentence, sizeof(sentence));
      printf("system %d: %s\n", k, sentence);
    }
    for (int i = 0; i < n; ++i) {
      const double element = x[k * n + i];
      error = isnan(element) ? INFINITY : fmax(error, fabs(element - 1)); /* fmax would ignore a NaN */
    }
  }
  printf("backward error of the first system %.1e, largest error of x %.1e\n", backward_error[0], error);
  free(a);
  free(x);
  free(backward_error);
  free(info);
  return status == SMALLBATCH_SUCCESS && error < 1e-9 ? 0 : 1;
}

/* V of Na+ at x = 0 and Cl- at x = 2.82 angstrom, at two points. */
static int evaluate(smallbatch_handle handle) {
  const float ions[2][4] = {{0, 0, 0, 1}, {2.82f, 0, 0, -1}}; /* x, y, z, q */
  const double points[2][3] = {{-1, 0, 0}, {0, 3, 0}};
  const double expected[2] = {14.3996454784 * (1 / 1.0 - 1 / 3.82), 14.3996454784 * (1 / 3.0 - 1 / hypot(2.82, 3.0))};
  double potential[2] = {0, 0};
  int32_t info = 0;
  smallbatch_charges charges;
  smallbatch_targets targets;
  smallbatch_potentials potentials;
  smallbatch_potential_options options;

  smallbatch_charges_init(&charges, SMALLBATCH_HOST, 1, 2);
  charges.xyzq = ions;
  charges.xyzq_type = SMALLBATCH_FLOAT32;
  smallbatch_points_init(&targets, 2);
  targets.point = &points[0][0];
  smallbatch_potentials_init(&potentials, SMALLBATCH_FLOAT64);
  potentials.potential = potential;
  potentials.info = &info;
  smallbatch_potential_options_init(&options);
  smallbatch_potential_unit_factor("volt", 0, &options.unit_factor);
  if (smallbatch_potential(handle, &charges, &targets, &potentials, &options, NULL, 0) != SMALLBATCH_SUCCESS) {
    fprintf(stderr, "%s\n", smallbatch_last_error(handle));
    return 1;
  }
  printf("V = %.5f and %.5f volt\n", potential[0], potential[1]);
  return info == 0 && fabs(potential[0] / expected[0] - 1) < 1e-6 && fabs(potential[1] / expected[1] - 1) < 1e-6 ? 0
                                                                                                                 : 1;
}

int main(void) {
  smallbatch_handle handle;
  int failed;
  if (smallbatch_create(&handle, SMALLBATCH_AUTO, 0) != SMALLBATCH_SUCCESS) {
    fprintf(stderr, "%s\n", smallbatch_last_error(NULL));
    return 1;
  }
  failed = solve(handle) + evaluate(handle);
  smallbatch_destroy(handle);
  return failed == 0 ? 0 : 1;
}
