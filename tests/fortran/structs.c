/* Structs in C's layout. Member k of each struct, counted from 1, holds k. Fortran (structs_test.f90) finds k in its
 * own member k only if both members have the same offset. */
#include "c/smallbatch.h"

static void* place(int k) { return (void*)(intptr_t)k; }

void fill_systems(smallbatch_systems* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_systems){(smallbatch_type)1,
                            (smallbatch_memory)2,
                            3,
                            4,
                            5,
                            (smallbatch_order)6,
                            (smallbatch_storage)7,
                            place(8),
                            (const void* const*)place(9),
                            10,
                            11,
                            place(12),
                            (const void* const*)place(13),
                            14,
                            15,
                            place(16)};
}
void fill_solutions(smallbatch_solutions* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_solutions){place(1), place(2), 3,        4,         place(5), place(6),
                              place(7), place(8), place(9), place(10), place(11)};
}
void fill_solve_options(smallbatch_solve_options* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_solve_options){(smallbatch_method)1, 2};
}
void fill_factors(smallbatch_factors* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_factors){place(1), 2, place(3), place(4), place(5)};
}
void fill_charges(smallbatch_charges* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_charges){(smallbatch_memory)1, 2,        3,        place(4), place(5), place(6), place(7),
                            (smallbatch_type)8,   place(9), place(10)};
}
void fill_targets(smallbatch_targets* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_targets){(smallbatch_target_kind)1, 2, 3, 4, place(5), place(6), 7, 8, 9, 10, place(11), place(12)};
}
void fill_potential_options(smallbatch_potential_options* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_potential_options){(smallbatch_singular)1, 2, 3, 4, 5};
}
void fill_potential_summary(smallbatch_potential_summary* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_potential_summary){1, 2, 3, 4};
}
void fill_potentials(smallbatch_potentials* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_potentials){(smallbatch_type)1, place(2), place(3), place(4), place(5), place(6)};
}
void fill_pair_energies(smallbatch_pair_energies* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_pair_energies){(smallbatch_type)1, place(2), place(3), place(4)};
}
void fill_signals(smallbatch_signals* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_signals){(smallbatch_memory)1, (smallbatch_sample_type)2, 3, 4, 5, 6, place(7), place(8)};
}
void fill_visibilities(smallbatch_visibilities* s, size_t* size) {
  *size = sizeof(*s);
  *s = (smallbatch_visibilities){(smallbatch_sum_type)1, place(2), place(3), place(4)};
}
