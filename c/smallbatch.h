/* smallbatch in C99: many small symmetric positive definite systems, and sums over point charges and signals.
 *
 * Every computation is called in one way. A handle says where it runs, plain structs say what is computed and where its
 * arrays lie, and what comes back is a status of the call; what became of a single system or problem is its `info`.
 *
 *     smallbatch_handle handle;
 *     smallbatch_systems systems;
 *     smallbatch_solutions solutions;
 *     smallbatch_create(&handle, SMALLBATCH_AUTO, 0);
 *     smallbatch_systems_init(&systems, SMALLBATCH_FLOAT64, SMALLBATCH_HOST, n, 1, count);
 *     systems.a = a;
 *     systems.b = b;
 *     smallbatch_solutions_init(&solutions);
 *     solutions.x = x;
 *     solutions.info = info;
 *     if (smallbatch_solve(handle, &systems, &solutions, NULL, NULL, 0) != SMALLBATCH_SUCCESS)
 *       fprintf(stderr, "%s\n", smallbatch_last_error(handle));
 *     smallbatch_destroy(handle);
 *
 * Memory. All arrays of a call lie in host memory, or all in the memory of the handle's CUDA device, as `memory` of the
 * struct with its input says (SMALLBATCH_HOST, SMALLBATCH_DEVICE). The structs themselves lie in host memory.
 *
 * With host arrays a call returns when its results are there; the handle owns what memory it needs besides, also on a
 * device. `workspace` is NULL and `workspace_bytes` 0.
 *
 * With device arrays, which need a handle of SMALLBATCH_CUDA, a call is asynchronous on the handle's stream: it
 * enqueues kernels, allocates nothing and never synchronises, so that CUDA graphs can be captured from it. It works in
 * `workspace`, device memory of at least as many bytes as the ..._workspace function of the same name gives for the
 * same arguments, from a multiple of 256 bytes on (cudaMalloc's are), whose contents matter neither before nor after;
 * NULL where that is 0. Nothing on the device is looked at before: pointers and sizes must be right. Arrays and
 * workspace must live, and no other stream may use what is written, until the stream has passed. A workspace query with
 * host arrays gives 0.
 *
 * Shapes are written slowest axis first, (count, n) for count times n numbers in a row. Every array starts at a
 * multiple of the size of its type. An optional output that is NULL is not wanted, and is not computed.
 *
 * Errors. No exception leaves a function, and none ends the process or prints. A call that fails for its arguments has
 * computed nothing. Its sentence is smallbatch_last_error().
 *
 * Threads. A handle is used by one thread at a time; different handles may be used at the same time.
 *
 * Link with smallbatch::c of find_package(smallbatch COMPONENTS c), or `pkg-config --cflags --libs smallbatch`.
 */
#ifndef SMALLBATCH_H
#define SMALLBATCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status of a call ---- */

/** What became of a call. */
typedef enum smallbatch_status {
  SMALLBATCH_SUCCESS = 0,          /**< done, or with device arrays enqueued; each system's own status is its info */
  SMALLBATCH_INVALID_ARGUMENT = 1, /**< the arguments make no sense, or this handle cannot do it */
  SMALLBATCH_NO_DEVICE = 2,        /**< the library was built without CUDA, or there is no such GPU */
  SMALLBATCH_OUT_OF_MEMORY = 3,    /**< host or device memory does not suffice */
  SMALLBATCH_DEVICE_ERROR = 4,     /**< CUDA reports an error, perhaps of earlier work on the device */
  SMALLBATCH_INTERNAL_ERROR = 5    /**< a bug */
} smallbatch_status;

/** A few words for a status, "invalid argument"; never NULL. */
const char* smallbatch_status_text(smallbatch_status status);

/** The version of the library, "0.2.0". */
const char* smallbatch_version(void);

/* ---- handles ---- */

/** Where calls run, on which device and stream, and what they need besides their arrays. */
typedef struct smallbatch_context* smallbatch_handle;

/** Who computes. All give the same statuses for the same input, but where a pivot is zero up to rounding. */
typedef enum smallbatch_backend {
  SMALLBATCH_AUTO = 0,     /**< of smallbatch_create: CUDA where the device can be used, else the CPU */
  SMALLBATCH_CPU = 1,      /**< SIMD and threads */
  SMALLBATCH_CUDA = 2,     /**< an NVIDIA GPU */
  SMALLBATCH_REFERENCE = 3 /**< Eigen in double precision, slow: to compare with */
} smallbatch_backend;

/** How many CUDA devices there are, 0 in a build without CUDA. Where it is 0, smallbatch_last_error(NULL) says why. */
int smallbatch_device_count(void);

/** Makes a handle, to be given back by smallbatch_destroy. `device` is the index of a CUDA device, or -1 for the
 *  calling thread's current one; other backends take no notice. NULL where it fails: NO_DEVICE for SMALLBATCH_CUDA on
 *  a machine without. Calls through the handle restore the calling thread's current device. */
smallbatch_status smallbatch_create(smallbatch_handle* handle, smallbatch_backend backend, int device);

/** Ends a handle and what it owns. What was enqueued on the caller's streams still runs. NULL is nothing. */
void smallbatch_destroy(smallbatch_handle handle);

/** What the handle became: SMALLBATCH_CPU, SMALLBATCH_CUDA or SMALLBATCH_REFERENCE in `backend`, and in `device` the
 *  CUDA device's index, -1 for other backends. Either may be NULL. */
smallbatch_status smallbatch_get_backend(smallbatch_handle handle, smallbatch_backend* backend, int* device);

/** The stream, a cudaStream_t of the handle's device, of calls with device arrays from now on. A new handle has NULL,
 *  the default stream. */
smallbatch_status smallbatch_set_stream(smallbatch_handle handle, void* cuda_stream);

/** Waits until the handle's stream has passed all that was enqueued on it; other backends have nothing to wait for. */
smallbatch_status smallbatch_synchronize(smallbatch_handle handle);

/** How many threads the CPU and the reference use from now on; 0, which a new handle has: one per core that the
 *  process may use. What the handle owns is given back, and made again by the next call. */
smallbatch_status smallbatch_set_threads(smallbatch_handle handle, int threads);

/** The sentence of the last call with this handle that failed, "" where none has: what is wrong, why, and what to do.
 *  Of NULL: that of the calling thread's last failed call that had no handle. Valid until the next such call. */
const char* smallbatch_last_error(smallbatch_handle handle);

/* ---- numbers and where they lie ---- */

/** The type of a call's numbers. */
typedef enum smallbatch_type {
  SMALLBATCH_FLOAT32 = 0, /**< float */
  SMALLBATCH_FLOAT64 = 1  /**< double */
} smallbatch_type;

/** Where the arrays of a call lie. */
typedef enum smallbatch_memory {
  SMALLBATCH_HOST = 0,  /**< in memory that the CPU reads; also managed and pinned memory */
  SMALLBATCH_DEVICE = 1 /**< in memory that the handle's GPU reads */
} smallbatch_memory;

/** Which index of a matrix runs fastest. */
typedef enum smallbatch_order {
  SMALLBATCH_ROW_MAJOR = 0,   /**< the column: element (i, j) at i * leading dimension + j, as in C */
  SMALLBATCH_COLUMN_MAJOR = 1 /**< the row: element (i, j) at i + j * leading dimension, as in Fortran and BLAS */
} smallbatch_order;

/** Which elements of the symmetric matrix A are stored. */
typedef enum smallbatch_storage {
  SMALLBATCH_BOTH_TRIANGLES = 0, /**< all; they are compared, and a matrix that is not symmetric is refused */
  SMALLBATCH_LOWER = 1,          /**< the lower triangle, of a full matrix whose other elements are never read */
  SMALLBATCH_UPPER = 2,          /**< the upper triangle, likewise */
  SMALLBATCH_PACKED_LOWER = 3,   /**< n(n+1)/2 numbers: a00, a10, a11, a20, ... by rows (SMALLBATCH_ROW_MAJOR),
                                      a00, a10, a20, ..., a11, ... by columns (LAPACK's uplo = 'L') */
  SMALLBATCH_PACKED_UPPER = 4    /**< n(n+1)/2 numbers: a00, a01, a02, ..., a11, ... by rows,
                                      a00, a01, a11, a02, ... by columns (LAPACK's uplo = 'U') */
} smallbatch_storage;

/** Numbers that stand for themselves. */
enum {
  SMALLBATCH_TIGHT = -1,            /**< a stride: each matrix follows the one before, its leading dimension included */
  SMALLBATCH_MAX_SYSTEM_SIZE = 128, /**< the largest n */
  SMALLBATCH_MAX_INPUTS = 4096      /**< the most inputs that can be correlated */
};

/* ---- systems A x = b ---- */

/** `count` systems A x = b with A symmetric positive definite, (n, n), and b (n, nrhs).
 *
 *  Matrix k of `a` starts at a + k * a_stride numbers, or at a_array[k]; right-hand sides likewise. A stride of 0: one
 *  matrix, or one set of right-hand sides, for all systems. Fill it by smallbatch_systems_init. */
typedef struct smallbatch_systems {
  smallbatch_type type;       /**< of the numbers in a, b, x, and of the numbers about them that are void* below */
  smallbatch_memory memory;   /**< where the arrays of the call lie, those of its results too */
  int64_t n;                  /**< unknowns per system, 1 to SMALLBATCH_MAX_SYSTEM_SIZE */
  int64_t nrhs;               /**< right-hand sides per system, 1 to 16777215; not looked at where none are needed */
  int64_t count;              /**< systems; 0 does nothing */
  smallbatch_order order;     /**< of a, b and x */
  smallbatch_storage storage; /**< of a */

  const void* a;              /**< the first matrix */
  const void* const* a_array; /**< or (count), a pointer to each matrix, itself in `memory`; `a` is NULL then */
  int64_t lda;                /**< leading dimension of a, at least n; 0: n. Not looked at of packed ones */
  int64_t a_stride;           /**< from one matrix to the next, in numbers; SMALLBATCH_TIGHT; 0: one for all */

  const void* b;              /**< the first system's right-hand sides */
  const void* const* b_array; /**< or (count), a pointer to those of each system; `b` is NULL then */
  int64_t ldb;                /**< leading dimension of b: at least nrhs by rows, n by columns; 0: just that */
  int64_t b_stride;           /**< from one system's to the next, in numbers; SMALLBATCH_TIGHT; 0: one set for all */

  const int32_t* sizes; /**< (count), 0 to n each: of a system only the first rows and columns of A, and rows of b,
                             count, in their places among n. What lies beyond may be anything, but is memory that may
                             be read; in x, 0 is beyond. Not of factors. NULL: all are n */
} smallbatch_systems;

/** Sets every member: by rows, both triangles, tight, and no arrays yet. */
void smallbatch_systems_init(smallbatch_systems* systems, smallbatch_type type, smallbatch_memory memory, int64_t n,
                             int64_t nrhs, int64_t count);

/** What is wanted of systems. Fill it by smallbatch_solutions_init.
 *
 *  `info` is the status of each system. 0: solved. k > 0: pivot k, counted from 1, is not positive, so A is not
 *  positive definite (LAPACK's meaning). -1: A holds a NaN or an infinity. -2: A is not symmetric, |a_ij - a_ji| > n
 *  eps sqrt(|a_ii a_jj|) somewhere. -3: b holds a NaN or an infinity. -4: x is beyond the range of the type. -5: x is
 *  so small that the type cannot hold it. -6: its size is not within 0 to n. Where it is not 0, every number of the
 *  system's answer is NaN (beyond its size 0), and other systems' are what they would be without it.
 *  smallbatch_describe_solve_info() has a sentence for each. */
typedef struct smallbatch_solutions {
  void* x;              /**< the first system's solutions: (n, nrhs) in the order of b, or the inverse, (n, n), whole.
                             May be b, with the same leading dimension and stride; else they must not overlap,
                             nor x and a, which is not noticed everywhere */
  void* const* x_array; /**< or (count), a pointer to those of each system; `x` is NULL then. May be b_array */
  int64_t ldx;          /**< leading dimension of x: at least nrhs (inverse: n) by rows, n by columns; 0: just that */
  int64_t x_stride;     /**< from one system's to the next, in numbers; SMALLBATCH_TIGHT. Never 0 for several systems */

  int32_t* info;        /**< (count), always wanted */
  void* backward_error; /**< (count) of `type`: the largest ||b - A x||_1 / (||A||_1 ||x||_1) of the right-hand sides,
                             ||I - A X||_1 / (||A||_1 ||X||_1) of an inverse X; NULL: not wanted */
  void* rcond;          /**< (count) of `type`: 1 / (||A||_1 ||A^-1||_1); NULL: not wanted */
  void* smallest_pivot; /**< (count) of `type`: the smallest d_k of A = L D L^T; NULL: not wanted */
  double* log_determinant; /**< (count): ln det A; NULL: not wanted */
  int32_t* repaired;       /**< (count): pivots that options' pivot_floor raised; NULL: not wanted */
  void* perturbation;      /**< (count) of `type`: max_k e_k / a_kk of what raising them added, A + diag(e); NULL: not
                                wanted */
} smallbatch_solutions;

/** Sets every member: tight, and nothing wanted yet. */
void smallbatch_solutions_init(smallbatch_solutions* solutions);

/** How systems are solved. */
typedef enum smallbatch_method {
  SMALLBATCH_AUTOMATIC = 0, /**< L D L^T; for inverses on GPUs the sweep, and L D L^T where that is not good enough */
  SMALLBATCH_GAUSS_JORDAN = 1, /**< elimination above and below the pivots; its error grows with the condition number */
  SMALLBATCH_LDLT = 2          /**< A = L D L^T and two triangular solves: backward stable */
} smallbatch_method;

/** Choices of smallbatch_solve, smallbatch_invert and smallbatch_log_determinant; NULL instead of one: all zeros. */
typedef struct smallbatch_solve_options {
  smallbatch_method method; /**< SMALLBATCH_AUTOMATIC is 0 */
  double pivot_floor; /**< f in [0, 1): pivots below f a_kk are raised, of matrices that should be definite and are
                           not to working precision; the answer is that of the nearby A + diag(e). 0: none are */
} smallbatch_solve_options;

/** Solves A x = b for all systems. */
smallbatch_status smallbatch_solve(smallbatch_handle handle, const smallbatch_systems* systems,
                                   const smallbatch_solutions* solutions, const smallbatch_solve_options* options,
                                   void* workspace, size_t workspace_bytes);
/** The bytes of its workspace. */
smallbatch_status smallbatch_solve_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                             const smallbatch_solutions* solutions,
                                             const smallbatch_solve_options* options, size_t* workspace_bytes);

/** The inverses of all A, both triangles filled, in x (n, n). nrhs and b are not looked at. */
smallbatch_status smallbatch_invert(smallbatch_handle handle, const smallbatch_systems* systems,
                                    const smallbatch_solutions* solutions, const smallbatch_solve_options* options,
                                    void* workspace, size_t workspace_bytes);
/** The bytes of its workspace. */
smallbatch_status smallbatch_invert_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                              const smallbatch_solutions* solutions,
                                              const smallbatch_solve_options* options, size_t* workspace_bytes);

/** ln det A, and other numbers about A, of all systems: info and what is wanted of rcond, smallest_pivot,
 *  log_determinant, repaired and perturbation. nrhs, b, x and backward_error are not looked at. */
smallbatch_status smallbatch_log_determinant(smallbatch_handle handle, const smallbatch_systems* systems,
                                             const smallbatch_solutions* solutions,
                                             const smallbatch_solve_options* options, void* workspace,
                                             size_t workspace_bytes);
/** The bytes of its workspace. */
smallbatch_status smallbatch_log_determinant_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                                       const smallbatch_solutions* solutions,
                                                       const smallbatch_solve_options* options,
                                                       size_t* workspace_bytes);

/** Factors A = L D L^T of systems, for many right-hand sides that come one after the other: made by smallbatch_factor,
 *  used by smallbatch_solve_factored, by either on any backend. Fill it by smallbatch_factors_init. */
typedef struct smallbatch_factors {
  void* factor;         /**< (count, n(n+1)/2) of the systems' type: d_k in the places of a_kk, below them L, whose
                             diagonal is 1, by rows: d_0, l_10, d_1, l_20, l_21, d_2, ... */
  int64_t stride;       /**< from one to the next, in numbers; SMALLBATCH_TIGHT; 0, to solve: one for all systems */
  int32_t* info;        /**< (count; 1 where the stride is 0): the status of each A as in smallbatch_solutions; -4
                                and -5 of factors that leave the range of the type.
                                To solve, the solutions' info is another array */
  void* smallest_pivot; /**< (count) of the systems' type: of smallbatch_factor, the smallest d_k; NULL: not wanted */
  double* log_determinant; /**< (count): of smallbatch_factor, ln det A; NULL: not wanted */
} smallbatch_factors;

/** Sets every member: tight, and no arrays yet. */
void smallbatch_factors_init(smallbatch_factors* factors);

/** Factors all A. nrhs and b are not looked at. */
smallbatch_status smallbatch_factor(smallbatch_handle handle, const smallbatch_systems* systems,
                                    const smallbatch_factors* factors, void* workspace, size_t workspace_bytes);
/** The bytes of its workspace. */
smallbatch_status smallbatch_factor_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                              const smallbatch_factors* factors, size_t* workspace_bytes);

/** Solves L D L^T x = b for all systems, whose storage and a are not looked at. Of the solutions it makes x and info,
 *  which is the factor's where that is not 0; other numbers must not be wanted. */
smallbatch_status smallbatch_solve_factored(smallbatch_handle handle, const smallbatch_factors* factors,
                                            const smallbatch_systems* systems, const smallbatch_solutions* solutions,
                                            void* workspace, size_t workspace_bytes);
/** The bytes of its workspace. */
smallbatch_status smallbatch_solve_factored_workspace(smallbatch_handle handle, const smallbatch_factors* factors,
                                                      const smallbatch_systems* systems,
                                                      const smallbatch_solutions* solutions, size_t* workspace_bytes);

/* ---- potentials of point charges ---- */

/** Charges of `count` problems. Their positions are in angstrom and they themselves in units of e, as `position` and
 *  `charge`, or together as `xyzq`, which float4 and double4 are. Fill it by smallbatch_charges_init.
 *
 *  Positions, and all other lengths of a call, may be in another unit, if options' unit_factor is divided by that
 *  unit's length in angstrom; fields are per that unit then. But distances below 1e-6 of the unit are none, except from
 *  points of lattices (smallbatch_singular): of metres all that molecules have. */
typedef struct smallbatch_charges {
  smallbatch_memory memory; /**< where the arrays of the call lie, those of its results too */
  int64_t count;            /**< problems; 0 does nothing */
  int64_t charge_count;     /**< charges of all problems together */
  const int64_t* offset;    /**< (count + 1), from 0 to charge_count: problem p has charges offset[p] to
                                 offset[p + 1] - 1. NULL: all problems have charge_count / count charges each */
  const double* position;   /**< (charge_count, 3), angstrom */
  const double* charge;     /**< (charge_count), e */
  const void* xyzq;         /**< or (charge_count, 4) of `xyzq_type`: x, y, z, q of each charge; `position` and `charge`
                                 are NULL then */
  smallbatch_type xyzq_type; /**< of xyzq */
  const int8_t* group;       /**< (charge_count): 1 and 2 for the groups of an interaction energy or of pairs, others
                                  belong to neither; NULL: no groups */
  const double* width;       /**< (charge_count), angstrom: of Gaussian charges, the standard deviation of each one's
                                  density; 0 is a point. Not with a softening or a screening length. NULL: all are
                                  points */
} smallbatch_charges;

/** Sets every member: no offsets, no groups, no widths, and no arrays yet. */
void smallbatch_charges_init(smallbatch_charges* charges, smallbatch_memory memory, int64_t count,
                             int64_t charge_count);

/** Where potentials are wanted. */
typedef enum smallbatch_target_kind {
  SMALLBATCH_AT_LATTICE = 0, /**< at the points of one lattice per problem */
  SMALLBATCH_AT_POINTS = 1,  /**< at points of each problem */
  SMALLBATCH_AT_CHARGES = 2  /**< at every charge, without its own contribution */
} smallbatch_target_kind;

/** The targets of each problem. Fill it by one of the ..._init functions below. */
typedef struct smallbatch_targets {
  smallbatch_target_kind kind; /**< which of the members below are looked at: none, at charges */

  int64_t nx;              /**< points along x of every lattice */
  int64_t ny;              /**< points along y */
  int64_t nz;              /**< points along z */
  const double* origin;    /**< (count, 3): point (i, j, k) of problem p lies at origin[p] + (i, j, k) * spacing[p] */
  const double* spacing;   /**< (count, 3), each > 0 */
  int64_t first_plane;     /**< only the planes k = first_plane to first_plane + plane_count - 1 are asked for */
  int64_t plane_count;     /**< nz: all */
  double smallest_spacing; /**< no spacing is smaller. 0: unknown, which costs two short kernels on a GPU */

  int64_t point_count;         /**< points of all problems together */
  const int64_t* point_offset; /**< (count + 1), from 0 to point_count: problem p has points point_offset[p] to
                                    point_offset[p + 1] - 1. NULL: point_count / count points each */
  const double* point;         /**< (point_count, 3), angstrom */
} smallbatch_targets;

/** Sets every member: at the points of whole lattices, without arrays yet. */
void smallbatch_lattice_init(smallbatch_targets* targets, int64_t nx, int64_t ny, int64_t nz);
/** Sets every member: at points, without arrays yet. */
void smallbatch_points_init(smallbatch_targets* targets, int64_t point_count);
/** Sets every member: at the charges. */
void smallbatch_at_charges_init(smallbatch_targets* targets);

/** What V and E are at a target that holds a charge, and what a pair of charges on one place gives: nearer than 1e-6
 *  angstrom, or, of a lattice's point, than 1e-6 of the smallest spacing. */
typedef enum smallbatch_singular {
  SMALLBATCH_INFINITE = 0, /**< an infinity with the sign of the net charge there, and a field of NaN; 0 for both where
                                the net charge is 0. Of a pair, an infinity with the sign of f q_i q_j; an energy of
                                infinities of both signs is NaN */
  SMALLBATCH_SKIP = 1      /**< the values of all other charges; of a pair, nothing */
} smallbatch_singular;

/** Choices of smallbatch_potential and smallbatch_pair_energy; NULL instead of one: what the ..._init function sets.
 *
 *      V(p) = f sum_i q_i g(|p - s_i|),   E(p) = -grad V(p),   g(r) = 1/rho,   rho^2 = r^2 + softening^2
 *
 *  With a cut-off g is (1 - r^2/cutoff^2)^2 times that, and 0 beyond it. With a screening length it is
 *  exp(-rho/screening_length) times that. With widths erf(r/(sqrt(2) w))/r takes the place of 1/rho where w > 0: w is
 *  that of charge i; of a pair, w^2 = w_i^2 + w_j^2, and a pair with w > 0 is never singular. */
typedef struct smallbatch_potential_options {
  smallbatch_singular singular; /**< what charges on targets give, where there is no softening */
  double unit_factor;           /**< f, finite: smallbatch_potential_unit_factor, over the dielectric constant where
                                     there is one; 1: e/angstrom */
  double softening;             /**< angstrom; 0: none */
  double cutoff;                /**< angstrom; 0: none */
  double screening_length;      /**< angstrom; 0: none */
} smallbatch_potential_options;

/** Sets every member: infinities, e/angstrom, no softening, cut-off or screening. */
void smallbatch_potential_options_init(smallbatch_potential_options* options);

/** What some potentials are, those that are finite. */
typedef struct smallbatch_potential_summary {
  double lowest;  /**< the smallest; an infinity where there is none */
  double highest; /**< the largest; minus an infinity where there is none */
  double sum;     /**< of all */
  int64_t values; /**< how many are finite */
} smallbatch_potential_summary;

/** What is wanted of problems. Fill it by smallbatch_potentials_init.
 *
 *  `info` is the status of each problem. 0: evaluated. k > 0: evaluated, and k charges lie on a lattice point, or k
 *  targets on a charge (`singular` decided the values there). -1: a position, a charge, a width or a point is a NaN or
 *  infinite, or a width is negative. -2: one is beyond 1e15 (1e150 for SMALLBATCH_FLOAT64) angstrom or e, and there are
 *  targets. -3, whatever k would be: evaluated, but values leave the range of the type, infinities of their sign; all
 *  others are right. With -1 and -2 every value of the problem is NaN. smallbatch_describe_potential_info() has a
 *  sentence for each. */
typedef struct smallbatch_potentials {
  smallbatch_type type;                  /**< of potential and field */
  void* potential;                       /**< V: (count, plane_count, ny, nx) on lattices, (point_count) at points,
                                              (charge_count) at charges; always wanted */
  void* field;                           /**< E, as potential with a last axis of 3; NULL: not wanted */
  int32_t* info;                         /**< (count), always wanted */
  double* energy;                        /**< (count): the interaction energy of groups 1 and 2, which there
                                              must be, in the unit of V times e; NULL: not wanted */
  smallbatch_potential_summary* summary; /**< of the potential: (count, plane_count) on lattices, else (count); NULL:
                                            not wanted */
} smallbatch_potentials;

/** Sets every member: nothing wanted yet. */
void smallbatch_potentials_init(smallbatch_potentials* potentials, smallbatch_type type);

/** Evaluates V, and E where it is wanted, for all problems. */
smallbatch_status smallbatch_potential(smallbatch_handle handle, const smallbatch_charges* charges,
                                       const smallbatch_targets* targets, const smallbatch_potentials* potentials,
                                       const smallbatch_potential_options* options, void* workspace,
                                       size_t workspace_bytes);
/** The bytes of its workspace. */
smallbatch_status smallbatch_potential_workspace(smallbatch_handle handle, const smallbatch_charges* charges,
                                                 const smallbatch_targets* targets,
                                                 const smallbatch_potentials* potentials,
                                                 const smallbatch_potential_options* options, size_t* workspace_bytes);

/** What is wanted of pairs of charges: all pairs i < j, or, where charges have groups, those of a charge of group 1
 *  with one of group 2. Fill it by smallbatch_pair_energies_init.
 *
 *  `info` is the status of each problem. 0: summed. k > 0: summed, and k pairs lie on one place (`singular` decided
 *  what they give). -1 and -2 as of potentials, with NaN as every energy; -3: an energy leaves the range of double.
 *  smallbatch_describe_pair_energy_info() has a sentence for each. */
typedef struct smallbatch_pair_energies {
  smallbatch_type precision; /**< of each pair; totals are in double precision */
  double* energy;            /**< (count), in the unit of V times e; always wanted */
  int32_t* info;             /**< (count), always wanted */
  double* energy_per_charge; /**< (charge_count): half of each of its pairs'; NULL: not wanted */
} smallbatch_pair_energies;

/** Sets every member: nothing wanted yet. */
void smallbatch_pair_energies_init(smallbatch_pair_energies* energies, smallbatch_type precision);

/** f sum q_i q_j g(|s_i - s_j|) over the pairs of each problem. */
smallbatch_status smallbatch_pair_energy(smallbatch_handle handle, const smallbatch_charges* charges,
                                         const smallbatch_pair_energies* energies,
                                         const smallbatch_potential_options* options, void* workspace,
                                         size_t workspace_bytes);
/** The bytes of its workspace. */
smallbatch_status smallbatch_pair_energy_workspace(smallbatch_handle handle, const smallbatch_charges* charges,
                                                   const smallbatch_pair_energies* energies,
                                                   const smallbatch_potential_options* options,
                                                   size_t* workspace_bytes);

/* ---- correlation of signals ---- */

/** One sample of one input, a complex number. */
typedef enum smallbatch_sample_type {
  SMALLBATCH_SAMPLE_FLOAT32 = 0, /**< real, imaginary: float each */
  SMALLBATCH_SAMPLE_INT8 = 1,    /**< real, imaginary: int8_t each */
  SMALLBATCH_SAMPLE_INT4 = 2     /**< one byte: the high half real, the low half imaginary, two's complement */
} smallbatch_sample_type;

/** A visibility as it is summed: real, imaginary. */
typedef enum smallbatch_sum_type {
  SMALLBATCH_SUM_FLOAT32 = 0, /**< float each */
  SMALLBATCH_SUM_INT32 = 1,   /**< int32_t each */
  SMALLBATCH_SUM_INT64 = 2    /**< int64_t each */
} smallbatch_sum_type;

/** The sums that samples of that type have, so many to a sum: those of integers are exact, in 64 bits where 32 might
 *  not hold them. */
smallbatch_sum_type smallbatch_sum_type_of(smallbatch_sample_type samples, int64_t samples_per_sum);

/** Signals of many inputs. Fill it by smallbatch_signals_init. */
typedef struct smallbatch_signals {
  smallbatch_memory memory;    /**< where the arrays of the call lie, those of its results too */
  smallbatch_sample_type type; /**< of each sample */
  int64_t channels;            /**< channels of frequency, each correlated by itself; 0 does nothing */
  int64_t times;               /**< samples in time */
  int64_t inputs;              /**< 1 to SMALLBATCH_MAX_INPUTS; a polarisation of an antenna is an input */
  int64_t integrate;           /**< samples per integration, at least 1; the last integration may be shorter */
  const void* signal;          /**< (channels, times, inputs); on a device from a multiple of 16 bytes on */
  const uint8_t* flag;         /**< (channels, times, inputs): not 0 counts for no baseline; NULL: none is */
} smallbatch_signals;

/** Sets every member: one integration of all times, without arrays yet. */
void smallbatch_signals_init(smallbatch_signals* signals, smallbatch_memory memory, smallbatch_sample_type type,
                             int64_t channels, int64_t times, int64_t inputs);

/** V_ij = sum_t x_i(t) conj(x_j(t)) of each channel and integration over the samples flagged for neither, for all
 *  baselines i >= j of which (i, j) has the place i (i + 1) / 2 + j; so there are inputs (inputs + 1) / 2. Fill it by
 *  smallbatch_visibilities_init.
 *
 *  `info` is the status of each channel. 0: correlated. -1: a sample that is not flagged is a NaN or an infinity: the
 *  visibilities of its input are NaN in its integration, all others are right. -2: a visibility of finite samples is
 *  beyond the range of float. smallbatch_describe_correlation_info() has a sentence for each. */
typedef struct smallbatch_visibilities {
  smallbatch_sum_type type; /**< smallbatch_sum_type_of the samples and min(times, integrate), or INT64 for INT32 */
  void* visibility;         /**< (integrations, channels, baselines), sums and not means; always wanted */
  int32_t* weight;          /**< (integrations, channels, baselines): how many samples each is of; NULL: not wanted */
  int32_t* info;            /**< (channels), always wanted */
} smallbatch_visibilities;

/** Sets every member: sums of the type that the signals' are of, and no arrays yet. */
void smallbatch_visibilities_init(smallbatch_visibilities* visibilities, const smallbatch_signals* signals);

/** Correlates all inputs with all, in every channel and integration. */
smallbatch_status smallbatch_correlate(smallbatch_handle handle, const smallbatch_signals* signals,
                                       const smallbatch_visibilities* visibilities, void* workspace,
                                       size_t workspace_bytes);
/** The bytes of its workspace. */
smallbatch_status smallbatch_correlate_workspace(smallbatch_handle handle, const smallbatch_signals* signals,
                                                 const smallbatch_visibilities* visibilities, size_t* workspace_bytes);

/* ---- sentences and units ---- */

/** One line about the `info` of a system, "pivot 3 is not positive", into `buffer` of `size` bytes, cut to fit and
 *  ended by a zero. Returns the length of the whole line, as snprintf does; buffer may be NULL where size is 0. */
size_t smallbatch_describe_solve_info(int32_t info, char* buffer, size_t size);
/** The same of a problem of smallbatch_potential. */
size_t smallbatch_describe_potential_info(int32_t info, char* buffer, size_t size);
/** The same of a problem of smallbatch_pair_energy. */
size_t smallbatch_describe_pair_energy_info(int32_t info, char* buffer, size_t size);
/** The same of a channel of smallbatch_correlate. */
size_t smallbatch_describe_correlation_info(int32_t info, char* buffer, size_t size);

/** The factor from e/angstrom to a unit of V: "volt", "kT/e", "kcal/mol/e", "kJ/mol/e", "hartree/e", "e/angstrom". The
 *  temperature (kelvin) matters for kT/e alone, where it must be positive. CODATA 2018. */
smallbatch_status smallbatch_potential_unit_factor(const char* unit, double temperature_kelvin, double* factor);
/** A unit of length in angstrom: "angstrom", "nm", "bohr", "pm", "m". */
smallbatch_status smallbatch_length_unit_in_angstrom(const char* unit, double* angstrom);
/** A unit of charge in units of e: "e", "C". */
smallbatch_status smallbatch_charge_unit_in_e(const char* unit, double* e);

#ifdef __cplusplus
}
#endif

#endif
