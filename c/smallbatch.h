/* smallbatch in C99: many small symmetric positive definite systems, and sums over point charges and signals.
 *
 * Every computation is called in the same way. A handle says where it runs. Plain structs say what is computed and
 * where its arrays lie. The function returns the status of the call. The status of each system or problem is its
 * `info`.
 *
 *      smallbatch_handle handle;
 *      smallbatch_systems systems;
 *      smallbatch_solutions solutions;
 *      smallbatch_create(&handle, SMALLBATCH_AUTO, 0);
 *
 *      smallbatch_systems_init(&systems, SMALLBATCH_FLOAT64, SMALLBATCH_HOST, n, 1, count);
 *      systems.a = a;
 *      systems.b = b;
 *      smallbatch_solutions_init(&solutions);
 *      solutions.x = x;
 *      solutions.info = info;
 *
 *      if (smallbatch_solve(handle, &systems, &solutions, NULL, NULL, 0) != SMALLBATCH_SUCCESS)
 *        fprintf(stderr, "%s\n", smallbatch_last_error(handle));
 *      smallbatch_destroy(handle);
 *
 * Memory. All arrays of a call lie in host memory, or all lie in the memory of the handle's CUDA device. The struct
 * with the input says so in its member `memory` (SMALLBATCH_HOST, SMALLBATCH_DEVICE). The structs themselves lie in
 * host memory.
 *
 * With host arrays a call returns when its results are complete. The handle owns any further memory that it needs, also
 * on a device. `workspace` is NULL and `workspace_bytes` is 0.
 *
 * Device arrays need a handle of SMALLBATCH_CUDA. A call is then asynchronous on the handle's stream. It enqueues
 * kernels, allocates nothing and never synchronises. CUDA graphs can therefore be captured from it.
 *
 * A call with device arrays works in `workspace`, which is device memory. The workspace has at least as many bytes as
 * the ..._workspace function of the same name gives for the same arguments. It starts at a multiple of 256 bytes, as
 * memory from cudaMalloc does. Its contents before and after the call have no meaning. `workspace` is NULL if the
 * ..._workspace function gives 0. With host arrays that function always gives 0.
 *
 * The call reads nothing on the device before it enqueues kernels, so pointers and sizes must be right. Arrays and
 * workspace must exist until the stream has finished the call. Until then, no other stream may use the arrays that are
 * written.
 *
 * Shapes are written with the slowest axis first: (count, n) is count rows of n numbers. Every array starts at a
 * multiple of the size of its type. An optional output that is NULL is not wanted, and is not computed.
 *
 * Errors. No exception leaves a function. No function ends the process or prints. A call that fails because of its
 * arguments has computed nothing. smallbatch_last_error() returns a sentence about the failure.
 *
 * Threads. Use a handle from one thread at a time. Different handles may be used at the same time.
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

/** Status of a call. */
typedef enum smallbatch_status {
  SMALLBATCH_SUCCESS = 0,          /**< done (with device arrays: enqueued); info is the status of each system */
  SMALLBATCH_INVALID_ARGUMENT = 1, /**< the arguments are not valid, or this handle cannot use them */
  SMALLBATCH_NO_DEVICE = 2,        /**< the library was built without CUDA, or there is no such GPU */
  SMALLBATCH_OUT_OF_MEMORY = 3,    /**< host or device memory does not suffice */
  SMALLBATCH_DEVICE_ERROR = 4,     /**< CUDA reports an error, perhaps of earlier work on the device */
  SMALLBATCH_INTERNAL_ERROR = 5    /**< a bug */
} smallbatch_status;

/** Returns a few words for a status, such as "invalid argument"; never NULL. */
const char* smallbatch_status_text(smallbatch_status status);

/** Returns the version of the library, such as "0.2.0". */
const char* smallbatch_version(void);

/* ---- handles ---- */

/** The backend, device and stream of calls, and the memory that they need besides their arrays. */
typedef struct smallbatch_context* smallbatch_handle;

/** Implementations. All of them give the same statuses for the same input, unless a pivot is 0 up to rounding. */
typedef enum smallbatch_backend {
  SMALLBATCH_AUTO = 0,     /**< for smallbatch_create: CUDA if the device can be used, else the CPU */
  SMALLBATCH_CPU = 1,      /**< SIMD and threads */
  SMALLBATCH_CUDA = 2,     /**< an NVIDIA GPU */
  SMALLBATCH_REFERENCE = 3 /**< Eigen in double precision; slow, for comparison */
} smallbatch_backend;

/** Returns the number of CUDA devices, 0 in a build without CUDA. If it is 0, smallbatch_last_error(NULL) says why. */
int smallbatch_device_count(void);

/** Makes a handle, which smallbatch_destroy must destroy. `device` is the index of a CUDA device, or -1 for the calling
 *  thread's current device. Other backends ignore it. If the call fails, the handle is NULL; without a CUDA device,
 *  SMALLBATCH_CUDA gives SMALLBATCH_NO_DEVICE. Calls through the handle restore the calling thread's current device. */
smallbatch_status smallbatch_create(smallbatch_handle* handle, smallbatch_backend backend, int device);

/** Destroys a handle and frees what it owns. Work that was enqueued on the caller's streams still runs. NULL is
 *  ignored. */
void smallbatch_destroy(smallbatch_handle handle);

/** Stores the backend of the handle in `backend`: SMALLBATCH_CPU, SMALLBATCH_CUDA or SMALLBATCH_REFERENCE. Stores the
 *  CUDA device's index in `device`, or -1 for other backends. Either pointer may be NULL. */
smallbatch_status smallbatch_get_backend(smallbatch_handle handle, smallbatch_backend* backend, int* device);

/** Sets the stream for all later calls with device arrays, a cudaStream_t of the handle's device. A new handle has
 *  NULL, the default stream. */
smallbatch_status smallbatch_set_stream(smallbatch_handle handle, void* cuda_stream);

/** Waits until the handle's stream has finished all enqueued work. Backends without a stream return at once. */
smallbatch_status smallbatch_synchronize(smallbatch_handle handle);

/** Sets the number of threads that the CPU and the reference use from now on. A new handle has 0: one thread per core
 *  that the process may use. The handle frees the memory and threads that it owns, and the next call makes them again.
 */
smallbatch_status smallbatch_set_threads(smallbatch_handle handle, int threads);

/** Returns the sentence about the last failed call with this handle: what is wrong, why, and what to do. It is "" if no
 *  call has failed. For NULL it is about the calling thread's last failed call without a handle. The text is valid
 *  until the next call with this handle fails, or for NULL the next call without a handle on this thread. */
const char* smallbatch_last_error(smallbatch_handle handle);

/* ---- types of numbers, memory and layouts ---- */

/** The type of a call's numbers. */
typedef enum smallbatch_type {
  SMALLBATCH_FLOAT32 = 0, /**< float */
  SMALLBATCH_FLOAT64 = 1  /**< double */
} smallbatch_type;

/** Where the arrays of a call lie. */
typedef enum smallbatch_memory {
  SMALLBATCH_HOST = 0,  /**< in memory that the CPU can read; it may be managed or pinned */
  SMALLBATCH_DEVICE = 1 /**< in memory that the handle's GPU can read */
} smallbatch_memory;

/** Order of a matrix's elements in memory. */
typedef enum smallbatch_order {
  SMALLBATCH_ROW_MAJOR = 0,   /**< by rows: element (i, j) at i * leading dimension + j, as in C */
  SMALLBATCH_COLUMN_MAJOR = 1 /**< by columns: element (i, j) at i + j * leading dimension, as in Fortran and BLAS */
} smallbatch_order;

/** Which elements of the symmetric matrix A are stored. */
typedef enum smallbatch_storage {
  SMALLBATCH_BOTH_TRIANGLES = 0, /**< all; the triangles are compared, and an asymmetric matrix is refused */
  SMALLBATCH_LOWER = 1,          /**< the lower triangle of a full matrix; the other elements are never read */
  SMALLBATCH_UPPER = 2,          /**< the upper triangle of a full matrix; the other elements are never read */
  SMALLBATCH_PACKED_LOWER = 3,   /**< n(n+1)/2 elements: a00, a10, a11, a20, ... by rows (SMALLBATCH_ROW_MAJOR),
                                      a00, a10, a20, ..., a11, ... by columns (LAPACK's uplo = 'L') */
  SMALLBATCH_PACKED_UPPER = 4    /**< n(n+1)/2 elements: a00, a01, a02, ..., a11, ... by rows,
                                      a00, a01, a11, a02, ... by columns (LAPACK's uplo = 'U') */
} smallbatch_storage;

/** Special value and limits. */
enum {
  SMALLBATCH_TIGHT = -1,            /**< a stride: each matrix begins where the previous one ends */
  SMALLBATCH_MAX_SYSTEM_SIZE = 256, /**< the largest n */
  SMALLBATCH_MAX_INPUTS = 4096      /**< the most inputs that can be correlated */
};

/* ---- systems A x = b ---- */

/** Systems A x = b with A symmetric positive definite, (n, n), and b (n, nrhs). There are `count` of them.
 *
 *  Matrix k starts a_stride * k elements after a, or at a_array[k]. The right-hand sides of system k start
 *  b_stride * k elements after b, or at b_array[k]. A stride of 0 means one matrix, or one set of right-hand sides, for
 *  all systems. Initialise the struct with smallbatch_systems_init. */
typedef struct smallbatch_systems {
  smallbatch_type type;       /**< of a, b and x, and of the results that are void* below */
  smallbatch_memory memory;   /**< where all arrays of the call lie, results included */
  int64_t n;                  /**< unknowns per system, 1 to SMALLBATCH_MAX_SYSTEM_SIZE */
  int64_t nrhs;               /**< right-hand sides per system, 1 to 8388607; ignored if none are needed */
  int64_t count;              /**< systems; 0 does nothing */
  smallbatch_order order;     /**< of a, b and x */
  smallbatch_storage storage; /**< of a */

  const void* a;              /**< the first matrix */
  const void* const* a_array; /**< alternatively (count), a pointer to each matrix, in `memory`; `a` is then NULL */
  int64_t lda;                /**< leading dimension of a, at least n; 0: n. Ignored for packed storage */
  int64_t a_stride;           /**< elements from one matrix to the next, or SMALLBATCH_TIGHT; 0: one for all systems */

  const void* b;              /**< right-hand sides of the first system */
  const void* const* b_array; /**< alternatively (count), a pointer to each system's b; `b` is then NULL */
  int64_t ldb;      /**< leading dimension of b. By rows: at least nrhs. By columns: at least n. 0: the minimum */
  int64_t b_stride; /**< elements from one system to the next, or SMALLBATCH_TIGHT; 0: one b for all systems */

  const int32_t* sizes; /**< (count), each from 0 to n; NULL: all are n. System k has only the first sizes[k] rows
                             and columns of A, and the first sizes[k] rows of b. The layout stays that of n rows.
                             Elements beyond may have any value, but must be readable memory. Elements of x beyond
                             are set to 0. Must be NULL in smallbatch_factor and smallbatch_solve_factored */
} smallbatch_systems;

/** Sets every member: SMALLBATCH_ROW_MAJOR, SMALLBATCH_BOTH_TRIANGLES, strides SMALLBATCH_TIGHT, no arrays yet. */
void smallbatch_systems_init(smallbatch_systems* systems, smallbatch_type type, smallbatch_memory memory, int64_t n,
                             int64_t nrhs, int64_t count);

/** Results that are wanted for systems. Initialise the struct with smallbatch_solutions_init.
 *
 *  `info` is the status of each system:
 *  - `0`: solved.
 *  - `k > 0`: pivot k, counted from 1, is not positive, so A is not positive definite (LAPACK's meaning).
 *  - `-1`: A has a NaN or an infinity.
 *  - `-2`: A is not symmetric: |a_ij - a_ji| > n eps sqrt(|a_ii a_jj|) for some element.
 *  - `-3`: b has a NaN or an infinity.
 *  - `-4`: x is beyond the range of the type.
 *  - `-5`: x is so small that the type cannot hold it.
 *  - `-6`: the system's size is not within 0 to n.
 *
 *  If `info` is not 0, every number of the system's answer is NaN (0 beyond its size). Other systems' answers do not
 *  change. smallbatch_describe_solve_info() returns a sentence for each status. */
typedef struct smallbatch_solutions {
  void* x;              /**< solutions of the first system: (n, nrhs) in the order of b; or the inverse, (n, n), both
                             triangles. May be b, with the same leading dimension and stride. Otherwise x must not
                             overlap b or a; not every overlap is detected */
  void* const* x_array; /**< alternatively (count), a pointer to each system's x; `x` is then NULL. May be
                             b_array */
  int64_t ldx;          /**< leading dimension of x. By rows: at least nrhs (inverse: n). By columns: at least n.
                             0: the minimum */
  int64_t x_stride;     /**< from one system to the next, in elements, or SMALLBATCH_TIGHT. Never 0 for several
                             systems */

  int32_t* info;           /**< (count), always wanted */
  void* backward_error;    /**< (count) of `type`: ||b - A x||_1 / (||A||_1 ||x||_1), the largest of the right-hand
                                sides. For an inverse X: ||I - A X||_1 / (||A||_1 ||X||_1). NULL: not wanted */
  void* rcond;             /**< (count) of `type`: 1 / (||A||_1 ||A^-1||_1); NULL: not wanted */
  void* smallest_pivot;    /**< (count) of `type`: the smallest d_k of A = L D L^T; NULL: not wanted */
  double* log_determinant; /**< (count): ln det A; NULL: not wanted */
  int32_t* repaired;       /**< (count): number of pivots that options' pivot_floor raised; NULL: not wanted */
  void* perturbation;      /**< (count) of `type`: max_k e_k / a_kk, where raising pivots changed A to A + diag(e);
                                NULL: not wanted */
} smallbatch_solutions;

/** Sets every member: the stride is SMALLBATCH_TIGHT, and no results are wanted yet. */
void smallbatch_solutions_init(smallbatch_solutions* solutions);

/** Method of solution. */
typedef enum smallbatch_method {
  SMALLBATCH_AUTOMATIC = 0,    /**< L D L^T; for inverses on GPUs the sweep, and L D L^T if the sweep is not accurate
                                    enough */
  SMALLBATCH_GAUSS_JORDAN = 1, /**< elimination above and below the pivots; its error grows with the condition number */
  SMALLBATCH_LDLT = 2          /**< A = L D L^T and two triangular solves: backward stable */
} smallbatch_method;

/** Options of smallbatch_solve, smallbatch_invert and smallbatch_log_determinant. NULL instead of a pointer to them
 *  means all zeros. */
typedef struct smallbatch_solve_options {
  smallbatch_method method; /**< 0: SMALLBATCH_AUTOMATIC */
  double pivot_floor; /**< f in [0, 1): pivots below f a_kk are raised. Use it for matrices that should be definite
                           but are not to working precision. The answer is that of the nearby matrix A + diag(e),
                           where e_k is added to raise pivot k. 0: no pivot is raised */
} smallbatch_solve_options;

/** Solves A x = b for all systems. */
smallbatch_status smallbatch_solve(smallbatch_handle handle, const smallbatch_systems* systems,
                                   const smallbatch_solutions* solutions, const smallbatch_solve_options* options,
                                   void* workspace, size_t workspace_bytes);
/** Computes the bytes of workspace of smallbatch_solve. */
smallbatch_status smallbatch_solve_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                             const smallbatch_solutions* solutions,
                                             const smallbatch_solve_options* options, size_t* workspace_bytes);

/** Computes the inverses of all A, both triangles filled, in x (n, n). nrhs and b are ignored. */
smallbatch_status smallbatch_invert(smallbatch_handle handle, const smallbatch_systems* systems,
                                    const smallbatch_solutions* solutions, const smallbatch_solve_options* options,
                                    void* workspace, size_t workspace_bytes);
/** Computes the bytes of workspace of smallbatch_invert. */
smallbatch_status smallbatch_invert_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                              const smallbatch_solutions* solutions,
                                              const smallbatch_solve_options* options, size_t* workspace_bytes);

/** Computes ln det A and other numbers about A for all systems: info, and rcond, smallest_pivot, log_determinant,
 *  repaired and perturbation if they are wanted. The members nrhs, b, x and backward_error are ignored. */
smallbatch_status smallbatch_log_determinant(smallbatch_handle handle, const smallbatch_systems* systems,
                                             const smallbatch_solutions* solutions,
                                             const smallbatch_solve_options* options, void* workspace,
                                             size_t workspace_bytes);
/** Computes the bytes of workspace of smallbatch_log_determinant. */
smallbatch_status smallbatch_log_determinant_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                                       const smallbatch_solutions* solutions,
                                                       const smallbatch_solve_options* options,
                                                       size_t* workspace_bytes);

/** The factors L and D of A = L D L^T, for right-hand sides that come later. smallbatch_factor makes them, and
 *  smallbatch_solve_factored uses them. The two calls may run on different backends. Initialise the struct with
 *  smallbatch_factors_init. */
typedef struct smallbatch_factors {
  void* factor;            /**< (count, n(n+1)/2) of the systems' type, by rows: d_0, l_10, d_1, l_20, l_21, d_2, ...
                                The diagonal of L is not stored, because it is 1 */
  int64_t stride;          /**< from one factor to the next, in elements, or SMALLBATCH_TIGHT. smallbatch_solve_factored
                                also takes 0: one factor for all systems */
  int32_t* info;           /**< (count, or 1 if the stride is 0): status of each A as in smallbatch_solutions; -4 and -5
                                if a factor leaves the range of the type. In smallbatch_solve_factored, the solutions'
                                info must be another array */
  void* smallest_pivot;    /**< (count) of the systems' type: smallest d_k, from smallbatch_factor; NULL: not wanted */
  double* log_determinant; /**< (count): ln det A, from smallbatch_factor; NULL: not wanted */
} smallbatch_factors;

/** Sets every member: the stride is SMALLBATCH_TIGHT, and there are no arrays yet. */
void smallbatch_factors_init(smallbatch_factors* factors);

/** Factors all A. nrhs and b are ignored. */
smallbatch_status smallbatch_factor(smallbatch_handle handle, const smallbatch_systems* systems,
                                    const smallbatch_factors* factors, void* workspace, size_t workspace_bytes);
/** Computes the bytes of workspace of smallbatch_factor. */
smallbatch_status smallbatch_factor_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                              const smallbatch_factors* factors, size_t* workspace_bytes);

/** Solves L D L^T x = b for all systems. The storage and `a` of the systems are ignored. It computes x and info; no
 *  other results may be wanted. If the factor's info is not 0, info is that number. */
smallbatch_status smallbatch_solve_factored(smallbatch_handle handle, const smallbatch_factors* factors,
                                            const smallbatch_systems* systems, const smallbatch_solutions* solutions,
                                            void* workspace, size_t workspace_bytes);
/** Computes the bytes of workspace of smallbatch_solve_factored. */
smallbatch_status smallbatch_solve_factored_workspace(smallbatch_handle handle, const smallbatch_factors* factors,
                                                      const smallbatch_systems* systems,
                                                      const smallbatch_solutions* solutions, size_t* workspace_bytes);

/* ---- potentials of point charges ---- */

/** Charges of `count` problems. Positions are in angstrom, charges in units of e. They are given as `position` and
 *  `charge`, or together as `xyzq`, which may be an array of float4 or double4. Initialise the struct with
 *  smallbatch_charges_init.
 *
 *  Positions and all other lengths of a call may be in another unit. Divide options' unit_factor by that unit's length
 *  in angstrom. E is then in the unit of V, divided by that unit. However, distances below 1e-6 of the unit count as 0,
 *  except from lattice points (smallbatch_singular). In metres, all distances within molecules would count as 0. */
typedef struct smallbatch_charges {
  smallbatch_memory memory; /**< where all arrays of the call lie, results included */
  int64_t count;            /**< problems; 0 does nothing */
  int64_t charge_count;     /**< charges of all problems together */
  const int64_t* offset;  /**< (count + 1), from 0 to charge_count: problem p has charges offset[p] to offset[p+1] - 1.
                               NULL: each problem has charge_count / count charges */
  const double* position; /**< (charge_count, 3), angstrom */
  const double* charge;   /**< (charge_count), e */
  const void* xyzq;       /**< alternatively (charge_count, 4) of `xyzq_type`: x, y, z, q of each charge;
                               `position` and `charge` are then NULL */
  smallbatch_type xyzq_type; /**< of xyzq */
  const int8_t* group;       /**< (charge_count): 1 or 2 for the groups of an interaction energy or of pairs; another
                                  number: neither group. NULL: no groups */
  const double* width;       /**< (charge_count), angstrom: the standard deviation of each Gaussian charge's density;
                                  0: a point. No softening or screening is possible with widths. NULL: all are points */
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

/** Targets of each problem. Initialise the struct with one of the ..._init functions below. */
typedef struct smallbatch_targets {
  smallbatch_target_kind kind; /**< selects the members below that are used; none for SMALLBATCH_AT_CHARGES */

  int64_t nx;              /**< points along x of every lattice */
  int64_t ny;              /**< points along y */
  int64_t nz;              /**< points along z */
  const double* origin;    /**< (count, 3): point (i, j, k) of problem p lies at origin[p] + (i, j, k) * spacing[p] */
  const double* spacing;   /**< (count, 3), each > 0 */
  int64_t first_plane;     /**< only the planes k = first_plane to first_plane + plane_count - 1 are evaluated */
  int64_t plane_count;     /**< nz: all planes */
  double smallest_spacing; /**< lower limit of all spacings. 0: unknown, which costs two short kernels on a GPU */

  int64_t point_count;         /**< points of all problems together */
  const int64_t* point_offset; /**< (count + 1), from 0 to point_count: problem p has points point_offset[p] to
                                    point_offset[p+1] - 1. NULL: each problem has point_count / count points */
  const double* point;         /**< (point_count, 3), angstrom */
} smallbatch_targets;

/** Sets every member: the targets are all points of the lattices, and there are no arrays yet. */
void smallbatch_lattice_init(smallbatch_targets* targets, int64_t nx, int64_t ny, int64_t nz);
/** Sets every member: the targets are free points, and there are no arrays yet. */
void smallbatch_points_init(smallbatch_targets* targets, int64_t point_count);
/** Sets every member: the targets are the charges. */
void smallbatch_at_charges_init(smallbatch_targets* targets);

/** Rule for V and E at a target that holds a charge, and for the energy of a pair of charges at one place. Distances
 *  below 1e-6 angstrom count as one place. For lattice points this limit is 1e-6 of the smallest spacing. */
typedef enum smallbatch_singular {
  SMALLBATCH_INFINITE = 0, /**< V: an infinity with the sign of the net charge there. E: NaN. If the net charge is 0,
                                V and E are the sums over all other charges. A pair: an infinity with the sign of
                                f q_i q_j; an energy with infinities of both signs is NaN */
  SMALLBATCH_SKIP = 1      /**< V and E: the sums over all other charges. A pair: left out */
} smallbatch_singular;

/** Options of smallbatch_potential and smallbatch_pair_energy. NULL instead of a pointer to them means the values that
 *  smallbatch_potential_options_init sets.
 *
 *       V(p) = f sum_i q_i g(|p - s_i|),   E(p) = -grad V(p),   g(r) = 1/rho,   rho^2 = r^2 + softening^2
 *
 *  A cut-off multiplies g by (1 - r^2/cutoff^2)^2, and by 0 beyond the cut-off. A screening length multiplies g by
 *  exp(-rho/screening_length). For a charge with width w > 0, g is erf(r/(sqrt(2) w))/r. For a pair, w^2 = w_i^2 +
 *  w_j^2; a pair with w > 0 is never singular. */
typedef struct smallbatch_potential_options {
  smallbatch_singular singular; /**< rule for V and E at targets that hold a charge, and for pairs at one place; has
                                     no effect with a softening */
  double unit_factor;           /**< f, finite: smallbatch_potential_unit_factor, divided by the dielectric constant
                                     if there is one; 1: e/angstrom */
  double softening;             /**< angstrom; 0: none */
  double cutoff;                /**< angstrom; 0: none */
  double screening_length;      /**< angstrom; 0: none */
} smallbatch_potential_options;

/** Sets every member: SMALLBATCH_INFINITE, the factor 1 (e/angstrom), and no softening, cut-off or screening. */
void smallbatch_potential_options_init(smallbatch_potential_options* options);

/** Summary of the potentials that are finite. */
typedef struct smallbatch_potential_summary {
  double lowest;  /**< the smallest finite potential; infinity if there is none */
  double highest; /**< the largest finite potential; minus infinity if there is none */
  double sum;     /**< the sum of the finite potentials */
  int64_t values; /**< number of finite potentials */
} smallbatch_potential_summary;

/** Results that are wanted for problems. Initialise the struct with smallbatch_potentials_init.
 *
 *  `info` is the status of each problem:
 *  - `0`: evaluated.
 *  - `k > 0`: evaluated, and k charges lie on a lattice point, or k targets on a charge. `singular` decided the values
 *    there.
 *  - `-1`: a position, a charge, a width or a point is a NaN or infinite, or a width is negative.
 *  - `-2`: a number is beyond 1e15 (1e150 for SMALLBATCH_FLOAT64) angstrom or e, and there are targets.
 *  - `-3`: evaluated, but values leave the range of the type. These values are infinities of their sign, and all
 *    other values are right. This status takes precedence over k.
 *
 *  With -1 and -2 every value of the problem is NaN. smallbatch_describe_potential_info() returns a sentence for each
 *  status. */
typedef struct smallbatch_potentials {
  smallbatch_type type;                  /**< of potential and field */
  void* potential;                       /**< V: (count, plane_count, ny, nx) on lattices, (point_count) at points,
                                              (charge_count) at charges; always wanted */
  void* field;                           /**< E, shaped like potential with a last axis of 3; NULL: not wanted */
  int32_t* info;                         /**< (count), always wanted */
  double* energy;                        /**< (count): interaction energy of groups 1 and 2, in the unit of V times
                                              e; needs the charges' `group`. NULL: not wanted */
  smallbatch_potential_summary* summary; /**< of the potential: (count, plane_count) on lattices, else (count); NULL:
                                              not wanted */
} smallbatch_potentials;

/** Sets every member: no results are wanted yet. */
void smallbatch_potentials_init(smallbatch_potentials* potentials, smallbatch_type type);

/** Evaluates V, and E if it is wanted, for all problems. */
smallbatch_status smallbatch_potential(smallbatch_handle handle, const smallbatch_charges* charges,
                                       const smallbatch_targets* targets, const smallbatch_potentials* potentials,
                                       const smallbatch_potential_options* options, void* workspace,
                                       size_t workspace_bytes);
/** Computes the bytes of workspace of smallbatch_potential. */
smallbatch_status smallbatch_potential_workspace(smallbatch_handle handle, const smallbatch_charges* charges,
                                                 const smallbatch_targets* targets,
                                                 const smallbatch_potentials* potentials,
                                                 const smallbatch_potential_options* options, size_t* workspace_bytes);

/** Results that are wanted for pairs of charges. Without groups, all i < j are pairs. With groups, a pair has one
 *  charge of group 1 and one of group 2. Initialise the struct with smallbatch_pair_energies_init.
 *
 *  `info` is the status of each problem:
 *  - `0`: summed.
 *  - `k > 0`: summed, and k pairs lie on one place. `singular` decided their energies.
 *  - `-1` and `-2`: as in smallbatch_potentials; every energy of the problem is NaN.
 *  - `-3`: an energy leaves the range of double.
 *
 *  smallbatch_describe_pair_energy_info() returns a sentence for each status. */
typedef struct smallbatch_pair_energies {
  smallbatch_type precision; /**< precision of each pair's energy; totals are in double precision */
  double* energy;            /**< (count), in the unit of V times e; always wanted */
  int32_t* info;             /**< (count), always wanted */
  double* energy_per_charge; /**< (charge_count): half the sum of the energies of a charge's pairs; NULL: not wanted */
} smallbatch_pair_energies;

/** Sets every member: no results are wanted yet. */
void smallbatch_pair_energies_init(smallbatch_pair_energies* energies, smallbatch_type precision);

/** Computes f sum q_i q_j g(|s_i - s_j|) over the pairs of each problem. */
smallbatch_status smallbatch_pair_energy(smallbatch_handle handle, const smallbatch_charges* charges,
                                         const smallbatch_pair_energies* energies,
                                         const smallbatch_potential_options* options, void* workspace,
                                         size_t workspace_bytes);
/** Computes the bytes of workspace of smallbatch_pair_energy. */
smallbatch_status smallbatch_pair_energy_workspace(smallbatch_handle handle, const smallbatch_charges* charges,
                                                   const smallbatch_pair_energies* energies,
                                                   const smallbatch_potential_options* options,
                                                   size_t* workspace_bytes);

/* ---- correlation of signals ---- */

/** Type of one sample of one input, a complex number. */
typedef enum smallbatch_sample_type {
  SMALLBATCH_SAMPLE_FLOAT32 = 0, /**< real, imaginary: float each */
  SMALLBATCH_SAMPLE_INT8 = 1,    /**< real, imaginary: int8_t each */
  SMALLBATCH_SAMPLE_INT4 = 2     /**< one byte: the high half real, the low half imaginary, two's complement */
} smallbatch_sample_type;

/** Type of a sum, a complex number: real, imaginary. */
typedef enum smallbatch_sum_type {
  SMALLBATCH_SUM_FLOAT32 = 0, /**< float each */
  SMALLBATCH_SUM_INT32 = 1,   /**< int32_t each */
  SMALLBATCH_SUM_INT64 = 2    /**< int64_t each */
} smallbatch_sum_type;

/** Returns the type of a sum over `samples_per_sum` samples of type `samples`. Sums of integers are exact: the type is
 *  64 bits wide if 32 bits might not hold them. */
smallbatch_sum_type smallbatch_sum_type_of(smallbatch_sample_type samples, int64_t samples_per_sum);

/** Signals of many inputs. Initialise the struct with smallbatch_signals_init. */
typedef struct smallbatch_signals {
  smallbatch_memory memory;    /**< where all arrays of the call lie, results included */
  smallbatch_sample_type type; /**< of each sample */
  int64_t channels;            /**< frequency channels, correlated separately; 0 does nothing */
  int64_t times;               /**< samples in time */
  int64_t inputs;              /**< 1 to SMALLBATCH_MAX_INPUTS; each polarisation of an antenna is an input */
  int64_t integrate;           /**< samples per integration, at least 1; the last integration may be shorter */
  const void* signal;          /**< (channels, times, inputs); on a device it starts at a multiple of 16 bytes */
  const uint8_t* flag;         /**< (channels, times, inputs): if not 0, the sample is used for no baseline; NULL: no
                                    flags */
} smallbatch_signals;

/** Sets every member: one integration of all times, and no arrays yet. */
void smallbatch_signals_init(smallbatch_signals* signals, smallbatch_memory memory, smallbatch_sample_type type,
                             int64_t channels, int64_t times, int64_t inputs);

/** Visibilities that are wanted: V_ij = sum_t x_i(t) conj(x_j(t)) of each channel and integration. The sum is over the
 *  samples that are flagged neither for i nor for j. There are inputs (inputs + 1) / 2 baselines i >= j. Baseline (i,
 *  j) has the index i (i + 1) / 2 + j. Initialise the struct with smallbatch_visibilities_init.
 *
 *  `info` is the status of each channel:
 *  - `0`: correlated.
 *  - `-1`: a sample that is not flagged is a NaN or an infinity. The visibilities of its input in its integration are
 *    NaN; all others are right.
 *  - `-2`: a visibility of finite samples is beyond the range of float.
 *
 *  smallbatch_describe_correlation_info() returns a sentence for each status. */
typedef struct smallbatch_visibilities {
  smallbatch_sum_type type; /**< the result of smallbatch_sum_type_of(signals' type, min(times, integrate)), or INT64
                                 instead of INT32 */
  void* visibility;         /**< (integrations, channels, baselines), sums and not means; always wanted */
  int32_t* weight;          /**< (integrations, channels, baselines): number of samples in each sum; NULL: not wanted */
  int32_t* info;            /**< (channels), always wanted */
} smallbatch_visibilities;

/** Sets every member: sums of the type that fits the signals, and no arrays yet. */
void smallbatch_visibilities_init(smallbatch_visibilities* visibilities, const smallbatch_signals* signals);

/** Correlates all pairs of inputs, in every channel and integration. */
smallbatch_status smallbatch_correlate(smallbatch_handle handle, const smallbatch_signals* signals,
                                       const smallbatch_visibilities* visibilities, void* workspace,
                                       size_t workspace_bytes);
/** Computes the bytes of workspace of smallbatch_correlate. */
smallbatch_status smallbatch_correlate_workspace(smallbatch_handle handle, const smallbatch_signals* signals,
                                                 const smallbatch_visibilities* visibilities, size_t* workspace_bytes);

/* ---- sentences and units ---- */

/** Writes one line about the `info` of a system, such as "pivot 3 is not positive", into `buffer` of `size` bytes. The
 *  line is cut to fit and ends with a zero byte. Returns the length of the whole line, as snprintf does. If size is 0,
 *  `buffer` may be NULL. */
size_t smallbatch_describe_solve_info(int32_t info, char* buffer, size_t size);
/** Writes one line about the `info` of a problem of smallbatch_potential, as smallbatch_describe_solve_info does. */
size_t smallbatch_describe_potential_info(int32_t info, char* buffer, size_t size);
/** Writes one line about the `info` of a problem of smallbatch_pair_energy, as smallbatch_describe_solve_info does. */
size_t smallbatch_describe_pair_energy_info(int32_t info, char* buffer, size_t size);
/** Writes one line about the `info` of a channel of smallbatch_correlate, as smallbatch_describe_solve_info does. */
size_t smallbatch_describe_correlation_info(int32_t info, char* buffer, size_t size);

/** Stores the factor from e/angstrom to a unit of V: "volt", "kT/e", "kcal/mol/e", "kJ/mol/e", "hartree/e" or
 *  "e/angstrom". Only kT/e needs the temperature (kelvin), which must then be positive. The constants are those of
 *  CODATA 2018. */
smallbatch_status smallbatch_potential_unit_factor(const char* unit, double temperature_kelvin, double* factor);
/** Stores the length of a unit in angstrom: "angstrom", "nm", "bohr", "pm" or "m". */
smallbatch_status smallbatch_length_unit_in_angstrom(const char* unit, double* angstrom);
/** Stores the charge of a unit in units of e: "e" or "C". */
smallbatch_status smallbatch_charge_unit_in_e(const char* unit, double* e);

#ifdef __cplusplus
}
#endif

#endif
