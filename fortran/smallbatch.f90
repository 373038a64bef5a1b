! smallbatch in Fortran 2008: many small symmetric positive definite systems, and sums over point charges and signals.
!
! The module has two levels. The upper level has subroutines in Fortran's terms, for arrays in host memory, in single
! and double precision:
!
!     use smallbatch
!     type(c_ptr) :: handle
!
!     call smallbatch_create(handle, SMALLBATCH_AUTO, ierr)
!     call smallbatch_solve(handle, a, b, x, info, ierr)          ! a(n,n,count), b(n,nrhs,count) or b(n,count)
!
!     if (ierr /= SMALLBATCH_SUCCESS) print *, smallbatch_last_error(handle)
!     call smallbatch_destroy(handle)
!
! The argument ierr is the status of the call, or -k if the shape of argument k does not fit the others. The argument
! info is the status of each system or problem. Arguments after ierr are optional.
!
! The lower level has everything in smallbatch.h. Its structs are derived types with the same names and members. The
! members start with the values that the ..._init functions set. The enumerators are constants, and each function has _c
! at the end of its name. This level gives access to device pointers, streams, leading dimensions and packed triangles.
! The header smallbatch.h explains all of it.
!
! All this is in one file, because a module cannot be split.
module smallbatch
  use, intrinsic :: iso_c_binding
  implicit none
  public

  ! ---- the enumerators of smallbatch.h ----

  integer(c_int), parameter :: SMALLBATCH_SUCCESS = 0, SMALLBATCH_INVALID_ARGUMENT = 1, SMALLBATCH_NO_DEVICE = 2, &
      SMALLBATCH_OUT_OF_MEMORY = 3, SMALLBATCH_DEVICE_ERROR = 4, SMALLBATCH_INTERNAL_ERROR = 5
  integer(c_int), parameter :: SMALLBATCH_AUTO = 0, SMALLBATCH_CPU = 1, SMALLBATCH_CUDA = 2, SMALLBATCH_REFERENCE = 3
  integer(c_int), parameter :: SMALLBATCH_FLOAT32 = 0, SMALLBATCH_FLOAT64 = 1
  integer(c_int), parameter :: SMALLBATCH_HOST = 0, SMALLBATCH_DEVICE = 1
  integer(c_int), parameter :: SMALLBATCH_ROW_MAJOR = 0, SMALLBATCH_COLUMN_MAJOR = 1
  integer(c_int), parameter :: SMALLBATCH_BOTH_TRIANGLES = 0, SMALLBATCH_LOWER = 1, SMALLBATCH_UPPER = 2, &
      SMALLBATCH_PACKED_LOWER = 3, SMALLBATCH_PACKED_UPPER = 4
  integer(c_int64_t), parameter :: SMALLBATCH_TIGHT = -1
  integer, parameter :: SMALLBATCH_MAX_SYSTEM_SIZE = 256, SMALLBATCH_MAX_INPUTS = 4096
  integer(c_int), parameter :: SMALLBATCH_AUTOMATIC = 0, SMALLBATCH_GAUSS_JORDAN = 1, SMALLBATCH_LDLT = 2
  integer(c_int), parameter :: SMALLBATCH_AT_LATTICE = 0, SMALLBATCH_AT_POINTS = 1, SMALLBATCH_AT_CHARGES = 2
  integer(c_int), parameter :: SMALLBATCH_INFINITE = 0, SMALLBATCH_SKIP = 1
  integer(c_int), parameter :: SMALLBATCH_SAMPLE_FLOAT32 = 0, SMALLBATCH_SAMPLE_INT8 = 1, SMALLBATCH_SAMPLE_INT4 = 2
  integer(c_int), parameter :: SMALLBATCH_SUM_FLOAT32 = 0, SMALLBATCH_SUM_INT32 = 1, SMALLBATCH_SUM_INT64 = 2

  ! ---- the structs of smallbatch.h; unlike in C, the default order of systems is by columns ----

  type, bind(c) :: smallbatch_systems
    integer(c_int) :: type = SMALLBATCH_FLOAT64
    integer(c_int) :: memory = SMALLBATCH_HOST
    integer(c_int64_t) :: n = 0
    integer(c_int64_t) :: nrhs = 1
    integer(c_int64_t) :: count = 0
    integer(c_int) :: order = SMALLBATCH_COLUMN_MAJOR
    integer(c_int) :: storage = SMALLBATCH_BOTH_TRIANGLES
    type(c_ptr) :: a = c_null_ptr
    type(c_ptr) :: a_array = c_null_ptr
    integer(c_int64_t) :: lda = 0
    integer(c_int64_t) :: a_stride = SMALLBATCH_TIGHT
    type(c_ptr) :: b = c_null_ptr
    type(c_ptr) :: b_array = c_null_ptr
    integer(c_int64_t) :: ldb = 0
    integer(c_int64_t) :: b_stride = SMALLBATCH_TIGHT
    type(c_ptr) :: sizes = c_null_ptr
  end type

  type, bind(c) :: smallbatch_solutions
    type(c_ptr) :: x = c_null_ptr
    type(c_ptr) :: x_array = c_null_ptr
    integer(c_int64_t) :: ldx = 0
    integer(c_int64_t) :: x_stride = SMALLBATCH_TIGHT
    type(c_ptr) :: info = c_null_ptr
    type(c_ptr) :: backward_error = c_null_ptr
    type(c_ptr) :: rcond = c_null_ptr
    type(c_ptr) :: smallest_pivot = c_null_ptr
    type(c_ptr) :: log_determinant = c_null_ptr
    type(c_ptr) :: repaired = c_null_ptr
    type(c_ptr) :: perturbation = c_null_ptr
  end type

  type, bind(c) :: smallbatch_solve_options
    integer(c_int) :: method = SMALLBATCH_AUTOMATIC
    real(c_double) :: pivot_floor = 0
  end type

  type, bind(c) :: smallbatch_factors
    type(c_ptr) :: factor = c_null_ptr
    integer(c_int64_t) :: stride = SMALLBATCH_TIGHT
    type(c_ptr) :: info = c_null_ptr
    type(c_ptr) :: smallest_pivot = c_null_ptr
    type(c_ptr) :: log_determinant = c_null_ptr
  end type

  type, bind(c) :: smallbatch_charges
    integer(c_int) :: memory = SMALLBATCH_HOST
    integer(c_int64_t) :: count = 1
    integer(c_int64_t) :: charge_count = 0
    type(c_ptr) :: offset = c_null_ptr
    type(c_ptr) :: position = c_null_ptr
    type(c_ptr) :: charge = c_null_ptr
    type(c_ptr) :: xyzq = c_null_ptr
    integer(c_int) :: xyzq_type = SMALLBATCH_FLOAT32
    type(c_ptr) :: group = c_null_ptr
    type(c_ptr) :: width = c_null_ptr
  end type

  type, bind(c) :: smallbatch_targets
    integer(c_int) :: kind = SMALLBATCH_AT_CHARGES
    integer(c_int64_t) :: nx = 0
    integer(c_int64_t) :: ny = 0
    integer(c_int64_t) :: nz = 0
    type(c_ptr) :: origin = c_null_ptr
    type(c_ptr) :: spacing = c_null_ptr
    integer(c_int64_t) :: first_plane = 0
    integer(c_int64_t) :: plane_count = 0
    real(c_double) :: smallest_spacing = 0
    integer(c_int64_t) :: point_count = 0
    type(c_ptr) :: point_offset = c_null_ptr
    type(c_ptr) :: point = c_null_ptr
  end type

  type, bind(c) :: smallbatch_potential_options
    integer(c_int) :: singular = SMALLBATCH_INFINITE
    real(c_double) :: unit_factor = 1
    real(c_double) :: softening = 0
    real(c_double) :: cutoff = 0
    real(c_double) :: screening_length = 0
  end type

  type, bind(c) :: smallbatch_potential_summary
    real(c_double) :: lowest
    real(c_double) :: highest
    real(c_double) :: sum
    integer(c_int64_t) :: values
  end type

  type, bind(c) :: smallbatch_potentials
    integer(c_int) :: type = SMALLBATCH_FLOAT64
    type(c_ptr) :: potential = c_null_ptr
    type(c_ptr) :: field = c_null_ptr
    type(c_ptr) :: info = c_null_ptr
    type(c_ptr) :: energy = c_null_ptr
    type(c_ptr) :: summary = c_null_ptr
  end type

  type, bind(c) :: smallbatch_pair_energies
    integer(c_int) :: precision = SMALLBATCH_FLOAT64
    type(c_ptr) :: energy = c_null_ptr
    type(c_ptr) :: info = c_null_ptr
    type(c_ptr) :: energy_per_charge = c_null_ptr
  end type

  type, bind(c) :: smallbatch_signals
    integer(c_int) :: memory = SMALLBATCH_HOST
    integer(c_int) :: type = SMALLBATCH_SAMPLE_FLOAT32
    integer(c_int64_t) :: channels = 0
    integer(c_int64_t) :: times = 0
    integer(c_int64_t) :: inputs = 1
    integer(c_int64_t) :: integrate = 1
    type(c_ptr) :: signal = c_null_ptr
    type(c_ptr) :: flag = c_null_ptr
  end type

  type, bind(c) :: smallbatch_visibilities
    integer(c_int) :: type = SMALLBATCH_SUM_FLOAT32
    type(c_ptr) :: visibility = c_null_ptr
    type(c_ptr) :: weight = c_null_ptr
    type(c_ptr) :: info = c_null_ptr
  end type

  ! ---- the functions of smallbatch.h; a type(c_ptr) that may be NULL is passed by value ----

  interface
    function smallbatch_status_text_c(status) bind(c, name="smallbatch_status_text") result(text)
      import
      integer(c_int), value :: status
      type(c_ptr) :: text
    end function
    function smallbatch_version_c() bind(c, name="smallbatch_version") result(text)
      import
      type(c_ptr) :: text
    end function
    function smallbatch_device_count_c() bind(c, name="smallbatch_device_count") result(count)
      import
      integer(c_int) :: count
    end function
    function smallbatch_create_c(handle, backend, device) bind(c, name="smallbatch_create") result(status)
      import
      type(c_ptr), intent(out) :: handle
      integer(c_int), value :: backend, device
      integer(c_int) :: status
    end function
    subroutine smallbatch_destroy_c(handle) bind(c, name="smallbatch_destroy")
      import
      type(c_ptr), value :: handle
    end subroutine
    function smallbatch_get_backend_c(handle, backend, device) bind(c, name="smallbatch_get_backend") result(status)
      import
      type(c_ptr), value :: handle
      integer(c_int), intent(out) :: backend, device
      integer(c_int) :: status
    end function
    function smallbatch_set_stream_c(handle, cuda_stream) bind(c, name="smallbatch_set_stream") result(status)
      import
      type(c_ptr), value :: handle, cuda_stream
      integer(c_int) :: status
    end function
    function smallbatch_synchronize_c(handle) bind(c, name="smallbatch_synchronize") result(status)
      import
      type(c_ptr), value :: handle
      integer(c_int) :: status
    end function
    function smallbatch_set_threads_c(handle, threads) bind(c, name="smallbatch_set_threads") result(status)
      import
      type(c_ptr), value :: handle
      integer(c_int), value :: threads
      integer(c_int) :: status
    end function
    function smallbatch_last_error_c(handle) bind(c, name="smallbatch_last_error") result(text)
      import
      type(c_ptr), value :: handle
      type(c_ptr) :: text
    end function

    function smallbatch_solve_c(handle, systems, solutions, options, workspace, workspace_bytes) &
        bind(c, name="smallbatch_solve") result(status)
      import
      type(c_ptr), value :: handle, options, workspace
      type(smallbatch_systems), intent(in) :: systems
      type(smallbatch_solutions), intent(in) :: solutions
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_solve_workspace_c(handle, systems, solutions, options, workspace_bytes) &
        bind(c, name="smallbatch_solve_workspace") result(status)
      import
      type(c_ptr), value :: handle, options
      type(smallbatch_systems), intent(in) :: systems
      type(smallbatch_solutions), intent(in) :: solutions
      integer(c_size_t), intent(out) :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_invert_c(handle, systems, solutions, options, workspace, workspace_bytes) &
        bind(c, name="smallbatch_invert") result(status)
      import
      type(c_ptr), value :: handle, options, workspace
      type(smallbatch_systems), intent(in) :: systems
      type(smallbatch_solutions), intent(in) :: solutions
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_invert_workspace_c(handle, systems, solutions, options, workspace_bytes) &
        bind(c, name="smallbatch_invert_workspace") result(status)
      import
      type(c_ptr), value :: handle, options
      type(smallbatch_systems), intent(in) :: systems
      type(smallbatch_solutions), intent(in) :: solutions
      integer(c_size_t), intent(out) :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_log_determinant_c(handle, systems, solutions, options, workspace, workspace_bytes) &
        bind(c, name="smallbatch_log_determinant") result(status)
      import
      type(c_ptr), value :: handle, options, workspace
      type(smallbatch_systems), intent(in) :: systems
      type(smallbatch_solutions), intent(in) :: solutions
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_log_determinant_workspace_c(handle, systems, solutions, options, workspace_bytes) &
        bind(c, name="smallbatch_log_determinant_workspace") result(status)
      import
      type(c_ptr), value :: handle, options
      type(smallbatch_systems), intent(in) :: systems
      type(smallbatch_solutions), intent(in) :: solutions
      integer(c_size_t), intent(out) :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_factor_c(handle, systems, factors, workspace, workspace_bytes) &
        bind(c, name="smallbatch_factor") result(status)
      import
      type(c_ptr), value :: handle, workspace
      type(smallbatch_systems), intent(in) :: systems
      type(smallbatch_factors), intent(in) :: factors
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_factor_workspace_c(handle, systems, factors, workspace_bytes) &
        bind(c, name="smallbatch_factor_workspace") result(status)
      import
      type(c_ptr), value :: handle
      type(smallbatch_systems), intent(in) :: systems
      type(smallbatch_factors), intent(in) :: factors
      integer(c_size_t), intent(out) :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_solve_factored_c(handle, factors, systems, solutions, workspace, workspace_bytes) &
        bind(c, name="smallbatch_solve_factored") result(status)
      import
      type(c_ptr), value :: handle, workspace
      type(smallbatch_factors), intent(in) :: factors
      type(smallbatch_systems), intent(in) :: systems
      type(smallbatch_solutions), intent(in) :: solutions
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_solve_factored_workspace_c(handle, factors, systems, solutions, workspace_bytes) &
        bind(c, name="smallbatch_solve_factored_workspace") result(status)
      import
      type(c_ptr), value :: handle
      type(smallbatch_factors), intent(in) :: factors
      type(smallbatch_systems), intent(in) :: systems
      type(smallbatch_solutions), intent(in) :: solutions
      integer(c_size_t), intent(out) :: workspace_bytes
      integer(c_int) :: status
    end function

    function smallbatch_potential_c(handle, charges, targets, potentials, options, workspace, workspace_bytes) &
        bind(c, name="smallbatch_potential") result(status)
      import
      type(c_ptr), value :: handle, options, workspace
      type(smallbatch_charges), intent(in) :: charges
      type(smallbatch_targets), intent(in) :: targets
      type(smallbatch_potentials), intent(in) :: potentials
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_potential_workspace_c(handle, charges, targets, potentials, options, workspace_bytes) &
        bind(c, name="smallbatch_potential_workspace") result(status)
      import
      type(c_ptr), value :: handle, options
      type(smallbatch_charges), intent(in) :: charges
      type(smallbatch_targets), intent(in) :: targets
      type(smallbatch_potentials), intent(in) :: potentials
      integer(c_size_t), intent(out) :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_pair_energy_c(handle, charges, energies, options, workspace, workspace_bytes) &
        bind(c, name="smallbatch_pair_energy") result(status)
      import
      type(c_ptr), value :: handle, options, workspace
      type(smallbatch_charges), intent(in) :: charges
      type(smallbatch_pair_energies), intent(in) :: energies
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_pair_energy_workspace_c(handle, charges, energies, options, workspace_bytes) &
        bind(c, name="smallbatch_pair_energy_workspace") result(status)
      import
      type(c_ptr), value :: handle, options
      type(smallbatch_charges), intent(in) :: charges
      type(smallbatch_pair_energies), intent(in) :: energies
      integer(c_size_t), intent(out) :: workspace_bytes
      integer(c_int) :: status
    end function

    function smallbatch_sum_type_of_c(samples, samples_per_sum) bind(c, name="smallbatch_sum_type_of") result(type)
      import
      integer(c_int), value :: samples
      integer(c_int64_t), value :: samples_per_sum
      integer(c_int) :: type
    end function
    function smallbatch_correlate_c(handle, signals, visibilities, workspace, workspace_bytes) &
        bind(c, name="smallbatch_correlate") result(status)
      import
      type(c_ptr), value :: handle, workspace
      type(smallbatch_signals), intent(in) :: signals
      type(smallbatch_visibilities), intent(in) :: visibilities
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: status
    end function
    function smallbatch_correlate_workspace_c(handle, signals, visibilities, workspace_bytes) &
        bind(c, name="smallbatch_correlate_workspace") result(status)
      import
      type(c_ptr), value :: handle
      type(smallbatch_signals), intent(in) :: signals
      type(smallbatch_visibilities), intent(in) :: visibilities
      integer(c_size_t), intent(out) :: workspace_bytes
      integer(c_int) :: status
    end function

    function smallbatch_describe_solve_info_c(info, buffer, size) bind(c, name="smallbatch_describe_solve_info") &
        result(length)
      import
      integer(c_int32_t), value :: info
      character(kind=c_char), intent(out) :: buffer(*)
      integer(c_size_t), value :: size
      integer(c_size_t) :: length
    end function
    function smallbatch_describe_potential_info_c(info, buffer, size) &
        bind(c, name="smallbatch_describe_potential_info") result(length)
      import
      integer(c_int32_t), value :: info
      character(kind=c_char), intent(out) :: buffer(*)
      integer(c_size_t), value :: size
      integer(c_size_t) :: length
    end function
    function smallbatch_describe_pair_energy_info_c(info, buffer, size) &
        bind(c, name="smallbatch_describe_pair_energy_info") result(length)
      import
      integer(c_int32_t), value :: info
      character(kind=c_char), intent(out) :: buffer(*)
      integer(c_size_t), value :: size
      integer(c_size_t) :: length
    end function
    function smallbatch_describe_correlation_info_c(info, buffer, size) &
        bind(c, name="smallbatch_describe_correlation_info") result(length)
      import
      integer(c_int32_t), value :: info
      character(kind=c_char), intent(out) :: buffer(*)
      integer(c_size_t), value :: size
      integer(c_size_t) :: length
    end function

    function smallbatch_potential_unit_factor_c(unit, temperature_kelvin, factor) &
        bind(c, name="smallbatch_potential_unit_factor") result(status)
      import
      character(kind=c_char), intent(in) :: unit(*)
      real(c_double), value :: temperature_kelvin
      real(c_double), intent(out) :: factor
      integer(c_int) :: status
    end function
    function smallbatch_length_unit_in_angstrom_c(unit, angstrom) &
        bind(c, name="smallbatch_length_unit_in_angstrom") result(status)
      import
      character(kind=c_char), intent(in) :: unit(*)
      real(c_double), intent(out) :: angstrom
      integer(c_int) :: status
    end function
    function smallbatch_charge_unit_in_e_c(unit, e) bind(c, name="smallbatch_charge_unit_in_e") result(status)
      import
      character(kind=c_char), intent(in) :: unit(*)
      real(c_double), intent(out) :: e
      integer(c_int) :: status
    end function
  end interface

  ! ---- subroutines in Fortran's terms ----

  !> Solves A x = b for all systems. The arrays have the shapes a(n,n,count), b(n,nrhs,count), x(n,nrhs,count) and
  !> info(count). One matrix a(n,n,1) may serve all systems. With one right-hand side per system, b and x may be
  !> (n,count). The argument uplo = 'L' or 'U' selects the triangle of a that is read. Without uplo, both triangles are
  !> read and compared. The options are a type(smallbatch_solve_options). The arrays backward_error(count) and
  !> rcond(count) have the kind of a. With sizes(count), only the first sizes(k) rows and columns of system k are used.
  interface smallbatch_solve
    module procedure solve_many_float32, solve_many_float64, solve_one_float32, solve_one_float64
  end interface
  !> Solves A x = b for all systems, and stores x in b.
  interface smallbatch_solve_in_place
    module procedure solve_many_in_place_float32, solve_many_in_place_float64
    module procedure solve_one_in_place_float32, solve_one_in_place_float64
  end interface
  !> Computes the inverses x(n,n,count) = a^-1, both triangles.
  interface smallbatch_inverse
    module procedure inverse_float32, inverse_float64
  end interface
  !> Computes log_determinant(count) = ln det a, in double precision.
  interface smallbatch_log_determinant
    module procedure log_determinant_float32, log_determinant_float64
  end interface
  !> Computes factors(n(n+1)/2,count) of a = L D L^T, and info(count), for smallbatch_solve_factored.
  interface smallbatch_factor
    module procedure factor_float32, factor_float64
  end interface
  !> Solves systems with the factors from smallbatch_factor, or with one factor for all systems. The arrays b and x have
  !> the shapes that smallbatch_solve takes.
  interface smallbatch_solve_factored
    module procedure solve_factored_many_float32, solve_factored_many_float64
    module procedure solve_factored_one_float32, solve_factored_one_float64
  end interface
  !> Computes the potential of charge(:), in units of e, at position(3,:), in angstrom. The result is potential(:) at
  !> point(3,:), or potential(nx,ny,nz) on the lattice of points origin + (i-1,j-1,k-1)*spacing. The array field has an
  !> additional first axis of 3. The options are a type(smallbatch_potential_options). The call has one problem, and
  !> info is its status.
  interface smallbatch_potential
    module procedure potential_points_float32, potential_points_float64
    module procedure potential_lattice_float32, potential_lattice_float64
  end interface

  private :: first_misfit, fits_sizes, systems_of, text_of
  private :: address_of_float32, address_of_float64, address_of_solve_options, address_of_potential_options
  private :: fits_float32, fits_float64
  private :: solve_many_float32, solve_many_float64, solve_one_float32, solve_one_float64, solve_there
  private :: solve_many_in_place_float32, solve_many_in_place_float64
  private :: solve_one_in_place_float32, solve_one_in_place_float64
  private :: inverse_float32, inverse_float64, log_determinant_float32, log_determinant_float64
  private :: factor_float32, factor_float64, solve_factored_there
  private :: solve_factored_many_float32, solve_factored_many_float64
  private :: solve_factored_one_float32, solve_factored_one_float64
  private :: potential_points_float32, potential_points_float64
  private :: potential_lattice_float32, potential_lattice_float64

contains

  !> Makes a handle. backend is SMALLBATCH_AUTO, SMALLBATCH_CPU, SMALLBATCH_CUDA or SMALLBATCH_REFERENCE. device is 0 if
  !> it is absent.
  subroutine smallbatch_create(handle, backend, ierr, device)
    type(c_ptr), intent(out) :: handle
    integer(c_int), intent(in) :: backend
    integer(c_int), intent(out) :: ierr
    integer(c_int), intent(in), optional :: device
    integer(c_int) :: index
    index = 0
    if (present(device)) index = device
    ierr = smallbatch_create_c(handle, backend, index)
  end subroutine

  !> Destroys a handle and sets it to c_null_ptr.
  subroutine smallbatch_destroy(handle)
    type(c_ptr), intent(inout) :: handle
    call smallbatch_destroy_c(handle)
    handle = c_null_ptr
  end subroutine

  !> Sets the number of threads that the CPU uses; 0: one per core.
  subroutine smallbatch_set_threads(handle, threads, ierr)
    type(c_ptr), intent(in) :: handle
    integer(c_int), intent(in) :: threads
    integer(c_int), intent(out) :: ierr
    ierr = smallbatch_set_threads_c(handle, threads)
  end subroutine

  !> Returns the sentence about the last failed call with the handle. If handle is absent, the sentence is about the
  !> last failed call without a handle, such as smallbatch_create.
  function smallbatch_last_error(handle) result(text)
    type(c_ptr), intent(in), optional :: handle
    character(:), allocatable :: text
    type(c_ptr) :: which
    which = c_null_ptr
    if (present(handle)) which = handle
    text = text_of(smallbatch_last_error_c(which))
  end function

  !> Returns a few words about an ierr: the status of a call, or -k if the shape of argument k does not fit.
  function smallbatch_status_text(status) result(text)
    integer(c_int), intent(in) :: status
    character(:), allocatable :: text
    character(12) :: number
    if (status < 0) then
      write (number, '(i0)') -status
      text = "the shape of argument "//trim(number)//" does not fit the others"
    else
      text = text_of(smallbatch_status_text_c(status))
    end if
  end function

  !> Returns the version of the library, such as "0.2.0".
  function smallbatch_version() result(text)
    character(:), allocatable :: text
    text = text_of(smallbatch_version_c())
  end function

  !> Returns one line about the info of a system, such as "pivot 3 is not positive".
  function smallbatch_describe_solve_info(info) result(text)
    integer(c_int32_t), intent(in) :: info
    character(:), allocatable :: text
    character(kind=c_char), target :: buffer(256)
    integer(c_size_t) :: length
    length = smallbatch_describe_solve_info_c(info, buffer, size(buffer, kind=c_size_t))
    text = text_of(c_loc(buffer))
  end function

  !> Returns one line about the info of a problem of smallbatch_potential.
  function smallbatch_describe_potential_info(info) result(text)
    integer(c_int32_t), intent(in) :: info
    character(:), allocatable :: text
    character(kind=c_char), target :: buffer(256)
    integer(c_size_t) :: length
    length = smallbatch_describe_potential_info_c(info, buffer, size(buffer, kind=c_size_t))
    text = text_of(c_loc(buffer))
  end function

  !> Returns one line about the info of a problem of smallbatch_pair_energy.
  function smallbatch_describe_pair_energy_info(info) result(text)
    integer(c_int32_t), intent(in) :: info
    character(:), allocatable :: text
    character(kind=c_char), target :: buffer(256)
    integer(c_size_t) :: length
    length = smallbatch_describe_pair_energy_info_c(info, buffer, size(buffer, kind=c_size_t))
    text = text_of(c_loc(buffer))
  end function

  !> Returns the factor from e/angstrom to a unit of V: "volt", "kT/e", "kcal/mol/e", "kJ/mol/e", "hartree/e" or
  !> "e/angstrom". Only kT/e needs the temperature, in kelvin.
  subroutine smallbatch_potential_unit_factor(unit, temperature, factor, ierr)
    character(*), intent(in) :: unit
    real(c_double), intent(in) :: temperature
    real(c_double), intent(out) :: factor
    integer(c_int), intent(out) :: ierr
    factor = 0
    ierr = smallbatch_potential_unit_factor_c(trim(unit)//c_null_char, temperature, factor)
  end subroutine

  !> Computes f sum_(i<j) q_i q_j g(|s_i - s_j|) of charge(:) at position(3,:). The options define f and g
  !> (smallbatch.h). The argument precision is the precision of each pair, SMALLBATCH_FLOAT64 if it is absent. The array
  !> width(:) has the widths of Gaussian charges, in angstrom.
  subroutine smallbatch_pair_energy(handle, position, charge, energy, info, ierr, options, energy_per_charge, precision, &
                                    width)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: position(:, :), charge(:)
    real(c_double), intent(out), target :: energy
    integer(c_int32_t), intent(out), target :: info
    integer(c_int), intent(out) :: ierr
    type(smallbatch_potential_options), intent(in), optional, target :: options
    real(c_double), intent(out), optional, contiguous, target :: energy_per_charge(:)
    integer(c_int), intent(in), optional :: precision
    real(c_double), intent(in), optional, contiguous, target :: width(:)
    type(smallbatch_charges) :: charges
    type(smallbatch_pair_energies) :: energies
    ierr = first_misfit([.true., size(position, 1) == 3, size(position, 2) == size(charge), .true., .true., .true., &
                         .true., fits_float64(energy_per_charge, size(charge)), .true., &
                         fits_float64(width, size(charge))])
    if (ierr /= 0) return
    charges%charge_count = size(charge)
    charges%position = c_loc(position)
    charges%charge = c_loc(charge)
    charges%width = address_of_float64(width)
    if (present(precision)) energies%precision = precision
    energies%energy = c_loc(energy)
    energies%info = c_loc(info)
    energies%energy_per_charge = address_of_float64(energy_per_charge)
    ierr = smallbatch_pair_energy_c(handle, charges, energies, address_of_potential_options(options), &
                                    c_null_ptr, 0_c_size_t)
  end subroutine

  ! ---- helpers ----

  !> Returns a C string as a Fortran string.
  function text_of(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i
    call c_f_pointer(address, characters, [4096])
    text = ""
    do i = 1, size(characters)
      if (characters(i) == c_null_char) exit
      text = text//characters(i)
    end do
  end function

  !> Returns -k, where k is the first argument with each_fits(k) = .false., or 0 if all arguments fit.
  pure function first_misfit(each_fits) result(ierr)
    logical, intent(in) :: each_fits(:)
    integer(c_int) :: ierr
    do ierr = 1, size(each_fits)
      if (.not. each_fits(ierr)) exit
    end do
    ierr = merge(-ierr, 0_c_int, ierr <= size(each_fits))
  end function

  !> Returns the address of the options, or null if they are absent.
  function address_of_solve_options(options) result(address)
    type(smallbatch_solve_options), intent(in), optional, target :: options
    type(c_ptr) :: address
    address = c_null_ptr
    if (present(options)) address = c_loc(options)
  end function

  !> Returns the address of the options, or null if they are absent.
  function address_of_potential_options(options) result(address)
    type(smallbatch_potential_options), intent(in), optional, target :: options
    type(c_ptr) :: address
    address = c_null_ptr
    if (present(options)) address = c_loc(options)
  end function

  !> Returns whether sizes is absent or has one element for each system.
  pure function fits_sizes(sizes, count) result(fits)
    integer(c_int32_t), intent(in), optional, contiguous :: sizes(:)
    integer, intent(in) :: count
    logical :: fits
    fits = .true.
    if (present(sizes)) fits = size(sizes) == count
  end function

  !> Returns systems stored by columns. a_shape is (n, n, count), or (n, n, 1) for one matrix for all systems.
  function systems_of(type, a_shape, a, count, uplo, sizes) result(systems)
    integer(c_int), intent(in) :: type
    integer, intent(in) :: a_shape(3), count
    type(c_ptr), intent(in) :: a
    character, intent(in), optional :: uplo
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_systems) :: systems
    systems%type = type
    systems%n = a_shape(1)
    systems%count = count
    systems%a = a
    if (a_shape(3) == 1) systems%a_stride = 0
    if (present(sizes)) systems%sizes = c_loc(sizes)
    if (.not. present(uplo)) return
    select case (uplo)
    case ('L', 'l')
      systems%storage = SMALLBATCH_LOWER
    case ('U', 'u')
      systems%storage = SMALLBATCH_UPPER
    case default
      systems%storage = -1  ! the library refuses this storage
    end select
  end function

  subroutine solve_there(handle, type, a_shape, a, b_shape, b, x_shape, x, info, ierr, numbers_fit, &
                         numbers, uplo, options, sizes)
    type(c_ptr), intent(in) :: handle, a, b, x
    integer(c_int), intent(in) :: type
    integer, intent(in) :: a_shape(3), b_shape(3), x_shape(3)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    logical, intent(in) :: numbers_fit(2)
    type(smallbatch_solutions), intent(in) :: numbers
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_systems) :: systems
    type(smallbatch_solutions) :: solutions
    ierr = first_misfit([.true., a_shape(1) == a_shape(2) .and. (a_shape(3) == b_shape(3) .or. a_shape(3) == 1), &
                         b_shape(1) == a_shape(1), all(x_shape == b_shape), size(info) == b_shape(3), .true., .true., &
                         .true., numbers_fit, fits_sizes(sizes, b_shape(3))])
    if (ierr /= 0) return
    systems = systems_of(type, a_shape, a, b_shape(3), uplo, sizes)
    systems%nrhs = b_shape(2)
    systems%b = b
    solutions = numbers
    solutions%x = x
    solutions%info = c_loc(info)
    ierr = smallbatch_solve_c(handle, systems, solutions, address_of_solve_options(options), c_null_ptr, 0_c_size_t)
  end subroutine

  subroutine solve_factored_there(handle, type, factor_shape, factor, factor_info, b_shape, b, x_shape, x, info, ierr)
    type(c_ptr), intent(in) :: handle, factor, b, x
    integer(c_int), intent(in) :: type
    integer, intent(in) :: factor_shape(2), b_shape(3), x_shape(3)
    integer(c_int32_t), intent(in), contiguous, target :: factor_info(:)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    type(smallbatch_factors) :: factors
    type(smallbatch_systems) :: systems
    type(smallbatch_solutions) :: solutions
    ierr = first_misfit([.true., factor_shape(2) == b_shape(3) .or. factor_shape(2) == 1, &
                         size(factor_info) == factor_shape(2), &
                         factor_shape(1) == b_shape(1)*(b_shape(1) + 1)/2, all(x_shape == b_shape), &
                         size(info) == b_shape(3)])
    if (ierr /= 0) return
    factors%factor = factor
    factors%info = c_loc(factor_info)
    if (factor_shape(2) == 1) factors%stride = 0
    systems%type = type
    systems%n = b_shape(1)
    systems%nrhs = b_shape(2)
    systems%count = b_shape(3)
    systems%b = b
    solutions%x = x
    solutions%info = c_loc(info)
    ierr = smallbatch_solve_factored_c(handle, factors, systems, solutions, c_null_ptr, 0_c_size_t)
  end subroutine

  ! ---- real(c_float) ----

  !> Returns the address of an optional array, or null if it is absent.
  function address_of_float32(array) result(address)
    real(c_float), intent(in), optional, contiguous, target :: array(:)
    type(c_ptr) :: address
    address = c_null_ptr
    if (present(array)) address = c_loc(array)
  end function

  !> Returns whether an optional array is absent or has `count` elements.
  function fits_float32(array, count) result(it_fits)
    real(c_float), intent(in), optional, contiguous, target :: array(:)
    integer, intent(in) :: count
    logical :: it_fits
    it_fits = .true.
    if (present(array)) it_fits = size(array) == count
  end function

  subroutine solve_many_float32(handle, a, b, x, info, ierr, uplo, options, backward_error, rcond, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_float), intent(in), contiguous, target :: a(:, :, :), b(:, :, :)
    real(c_float), intent(out), contiguous, target :: x(:, :, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    real(c_float), intent(out), optional, contiguous, target :: backward_error(:), rcond(:)
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    numbers%backward_error = address_of_float32(backward_error)
    numbers%rcond = address_of_float32(rcond)
    call solve_there(handle, SMALLBATCH_FLOAT32, shape(a), c_loc(a), shape(b), c_loc(b), &
                     shape(x), c_loc(x), info, ierr, &
                     [fits_float32(backward_error, size(b, 3)), fits_float32(rcond, size(b, 3))], &
                     numbers, uplo, options, sizes)
  end subroutine

  subroutine solve_many_in_place_float32(handle, a, b, info, ierr, uplo, options, backward_error, rcond, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_float), intent(in), contiguous, target :: a(:, :, :)
    real(c_float), intent(inout), contiguous, target :: b(:, :, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    real(c_float), intent(out), optional, contiguous, target :: backward_error(:), rcond(:)
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    numbers%backward_error = address_of_float32(backward_error)
    numbers%rcond = address_of_float32(rcond)
    call solve_there(handle, SMALLBATCH_FLOAT32, shape(a), c_loc(a), shape(b), c_loc(b), &
                     shape(b), c_loc(b), info, ierr, &
                     [fits_float32(backward_error, size(b, 3)), fits_float32(rcond, size(b, 3))], &
                     numbers, uplo, options, sizes)
    if (ierr < -4) ierr = ierr + 1  ! this subroutine has no argument x
  end subroutine

  subroutine solve_factored_many_float32(handle, factors, factor_info, b, x, info, ierr)
    type(c_ptr), intent(in) :: handle
    real(c_float), intent(in), contiguous, target :: factors(:, :), b(:, :, :)
    integer(c_int32_t), intent(in), contiguous, target :: factor_info(:)
    real(c_float), intent(out), contiguous, target :: x(:, :, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    call solve_factored_there(handle, SMALLBATCH_FLOAT32, shape(factors), c_loc(factors), factor_info, &
                              shape(b), c_loc(b), shape(x), c_loc(x), info, ierr)
  end subroutine

  subroutine solve_one_float32(handle, a, b, x, info, ierr, uplo, options, backward_error, rcond, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_float), intent(in), contiguous, target :: a(:, :, :), b(:, :)
    real(c_float), intent(out), contiguous, target :: x(:, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    real(c_float), intent(out), optional, contiguous, target :: backward_error(:), rcond(:)
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    numbers%backward_error = address_of_float32(backward_error)
    numbers%rcond = address_of_float32(rcond)
    call solve_there(handle, SMALLBATCH_FLOAT32, shape(a), c_loc(a), [size(b, 1), 1, size(b, 2)], c_loc(b), &
                     [size(x, 1), 1, size(x, 2)], c_loc(x), info, ierr, &
                     [fits_float32(backward_error, size(b, 2)), fits_float32(rcond, size(b, 2))], &
                     numbers, uplo, options, sizes)
  end subroutine

  subroutine solve_one_in_place_float32(handle, a, b, info, ierr, uplo, options, backward_error, rcond, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_float), intent(in), contiguous, target :: a(:, :, :)
    real(c_float), intent(inout), contiguous, target :: b(:, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    real(c_float), intent(out), optional, contiguous, target :: backward_error(:), rcond(:)
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    numbers%backward_error = address_of_float32(backward_error)
    numbers%rcond = address_of_float32(rcond)
    call solve_there(handle, SMALLBATCH_FLOAT32, shape(a), c_loc(a), [size(b, 1), 1, size(b, 2)], c_loc(b), &
                     [size(b, 1), 1, size(b, 2)], c_loc(b), info, ierr, &
                     [fits_float32(backward_error, size(b, 2)), fits_float32(rcond, size(b, 2))], &
                     numbers, uplo, options, sizes)
    if (ierr < -4) ierr = ierr + 1  ! this subroutine has no argument x
  end subroutine

  subroutine solve_factored_one_float32(handle, factors, factor_info, b, x, info, ierr)
    type(c_ptr), intent(in) :: handle
    real(c_float), intent(in), contiguous, target :: factors(:, :), b(:, :)
    integer(c_int32_t), intent(in), contiguous, target :: factor_info(:)
    real(c_float), intent(out), contiguous, target :: x(:, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    call solve_factored_there(handle, SMALLBATCH_FLOAT32, shape(factors), c_loc(factors), factor_info, &
                              [size(b, 1), 1, size(b, 2)], c_loc(b), [size(x, 1), 1, size(x, 2)], c_loc(x), info, ierr)
  end subroutine

  subroutine inverse_float32(handle, a, x, info, ierr, uplo, options, backward_error, rcond, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_float), intent(in), contiguous, target :: a(:, :, :)
    real(c_float), intent(out), contiguous, target :: x(:, :, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    real(c_float), intent(out), optional, contiguous, target :: backward_error(:), rcond(:)
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    numbers%backward_error = address_of_float32(backward_error)
    numbers%rcond = address_of_float32(rcond)
    ierr = first_misfit([.true., size(a, 1) == size(a, 2), all(shape(x) == shape(a)), size(info) == size(a, 3), &
                         .true., .true., .true., fits_float32(backward_error, size(a, 3)), &
                         fits_float32(rcond, size(a, 3)), fits_sizes(sizes, size(a, 3))])
    if (ierr /= 0) return
    numbers%x = c_loc(x)
    numbers%info = c_loc(info)
    ierr = smallbatch_invert_c(handle, systems_of(SMALLBATCH_FLOAT32, shape(a), c_loc(a), size(a, 3), uplo, sizes), &
                               numbers, address_of_solve_options(options), c_null_ptr, 0_c_size_t)
  end subroutine

  subroutine log_determinant_float32(handle, a, log_determinant, info, ierr, uplo, options, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_float), intent(in), contiguous, target :: a(:, :, :)
    real(c_double), intent(out), contiguous, target :: log_determinant(:)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    ierr = first_misfit([.true., size(a, 1) == size(a, 2), size(log_determinant) == size(a, 3), &
                         size(info) == size(a, 3), .true., .true., .true., fits_sizes(sizes, size(a, 3))])
    if (ierr /= 0) return
    numbers%log_determinant = c_loc(log_determinant)
    numbers%info = c_loc(info)
    ierr = smallbatch_log_determinant_c(handle, &
                                        systems_of(SMALLBATCH_FLOAT32, shape(a), c_loc(a), size(a, 3), uplo, sizes), &
                                        numbers, address_of_solve_options(options), c_null_ptr, 0_c_size_t)
  end subroutine

  subroutine factor_float32(handle, a, factors, info, ierr, uplo)
    type(c_ptr), intent(in) :: handle
    real(c_float), intent(in), contiguous, target :: a(:, :, :)
    real(c_float), intent(out), contiguous, target :: factors(:, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_factors) :: result
    ierr = first_misfit([.true., size(a, 1) == size(a, 2), &
                         all(shape(factors) == [size(a, 1)*(size(a, 1) + 1)/2, size(a, 3)]), size(info) == size(a, 3)])
    if (ierr /= 0) return
    result%factor = c_loc(factors)
    result%info = c_loc(info)
    ierr = smallbatch_factor_c(handle, systems_of(SMALLBATCH_FLOAT32, shape(a), c_loc(a), size(a, 3), uplo), result, &
                               c_null_ptr, 0_c_size_t)
  end subroutine

  subroutine potential_points_float32(handle, position, charge, point, potential, info, ierr, options, field, &
                                      width)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: position(:, :), charge(:), point(:, :)
    real(c_float), intent(out), contiguous, target :: potential(:)
    integer(c_int32_t), intent(out), target :: info
    integer(c_int), intent(out) :: ierr
    type(smallbatch_potential_options), intent(in), optional, target :: options
    real(c_float), intent(out), optional, contiguous, target :: field(:, :)
    real(c_double), intent(in), optional, contiguous, target :: width(:)
    type(smallbatch_charges) :: charges
    type(smallbatch_targets) :: targets
    type(smallbatch_potentials) :: potentials
    logical :: field_fits
    field_fits = .true.
    if (present(field)) field_fits = all(shape(field) == [3, size(point, 2)])
    ierr = first_misfit([.true., size(position, 1) == 3, size(position, 2) == size(charge), size(point, 1) == 3, &
                         size(potential) == size(point, 2), .true., .true., .true., field_fits, &
                         fits_float64(width, size(charge))])
    if (ierr /= 0) return
    charges%charge_count = size(charge)
    charges%position = c_loc(position)
    charges%charge = c_loc(charge)
    charges%width = address_of_float64(width)
    targets%kind = SMALLBATCH_AT_POINTS
    targets%point_count = size(point, 2)
    targets%point = c_loc(point)
    potentials%type = SMALLBATCH_FLOAT32
    potentials%potential = c_loc(potential)
    potentials%info = c_loc(info)
    if (present(field)) potentials%field = c_loc(field)
    ierr = smallbatch_potential_c(handle, charges, targets, potentials, address_of_potential_options(options), &
                                  c_null_ptr, 0_c_size_t)
  end subroutine

  subroutine potential_lattice_float32(handle, position, charge, origin, spacing, potential, info, ierr, options, field, &
                                       width)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: position(:, :), charge(:), origin(:), spacing(:)
    real(c_float), intent(out), contiguous, target :: potential(:, :, :)
    integer(c_int32_t), intent(out), target :: info
    integer(c_int), intent(out) :: ierr
    type(smallbatch_potential_options), intent(in), optional, target :: options
    real(c_float), intent(out), optional, contiguous, target :: field(:, :, :, :)
    real(c_double), intent(in), optional, contiguous, target :: width(:)
    type(smallbatch_charges) :: charges
    type(smallbatch_targets) :: targets
    type(smallbatch_potentials) :: potentials
    logical :: field_fits
    field_fits = .true.
    if (present(field)) field_fits = all(shape(field) == [3, shape(potential)])
    ierr = first_misfit([.true., size(position, 1) == 3, size(position, 2) == size(charge), size(origin) == 3, &
                         size(spacing) == 3, .true., .true., .true., .true., field_fits, &
                         fits_float64(width, size(charge))])
    if (ierr /= 0) return
    charges%charge_count = size(charge)
    charges%position = c_loc(position)
    charges%charge = c_loc(charge)
    charges%width = address_of_float64(width)
    targets%kind = SMALLBATCH_AT_LATTICE
    targets%nx = size(potential, 1)
    targets%ny = size(potential, 2)
    targets%nz = size(potential, 3)
    targets%plane_count = targets%nz
    targets%origin = c_loc(origin)
    targets%spacing = c_loc(spacing)
    potentials%type = SMALLBATCH_FLOAT32
    potentials%potential = c_loc(potential)
    potentials%info = c_loc(info)
    if (present(field)) potentials%field = c_loc(field)
    ierr = smallbatch_potential_c(handle, charges, targets, potentials, address_of_potential_options(options), &
                                  c_null_ptr, 0_c_size_t)
  end subroutine

  ! ---- real(c_double) ----

  !> Returns the address of an optional array, or null if it is absent.
  function address_of_float64(array) result(address)
    real(c_double), intent(in), optional, contiguous, target :: array(:)
    type(c_ptr) :: address
    address = c_null_ptr
    if (present(array)) address = c_loc(array)
  end function

  !> Returns whether an optional array is absent or has `count` elements.
  function fits_float64(array, count) result(it_fits)
    real(c_double), intent(in), optional, contiguous, target :: array(:)
    integer, intent(in) :: count
    logical :: it_fits
    it_fits = .true.
    if (present(array)) it_fits = size(array) == count
  end function

  subroutine solve_many_float64(handle, a, b, x, info, ierr, uplo, options, backward_error, rcond, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: a(:, :, :), b(:, :, :)
    real(c_double), intent(out), contiguous, target :: x(:, :, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    real(c_double), intent(out), optional, contiguous, target :: backward_error(:), rcond(:)
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    numbers%backward_error = address_of_float64(backward_error)
    numbers%rcond = address_of_float64(rcond)
    call solve_there(handle, SMALLBATCH_FLOAT64, shape(a), c_loc(a), shape(b), c_loc(b), &
                     shape(x), c_loc(x), info, ierr, &
                     [fits_float64(backward_error, size(b, 3)), fits_float64(rcond, size(b, 3))], &
                     numbers, uplo, options, sizes)
  end subroutine

  subroutine solve_many_in_place_float64(handle, a, b, info, ierr, uplo, options, backward_error, rcond, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: a(:, :, :)
    real(c_double), intent(inout), contiguous, target :: b(:, :, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    real(c_double), intent(out), optional, contiguous, target :: backward_error(:), rcond(:)
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    numbers%backward_error = address_of_float64(backward_error)
    numbers%rcond = address_of_float64(rcond)
    call solve_there(handle, SMALLBATCH_FLOAT64, shape(a), c_loc(a), shape(b), c_loc(b), &
                     shape(b), c_loc(b), info, ierr, &
                     [fits_float64(backward_error, size(b, 3)), fits_float64(rcond, size(b, 3))], &
                     numbers, uplo, options, sizes)
    if (ierr < -4) ierr = ierr + 1  ! this subroutine has no argument x
  end subroutine

  subroutine solve_factored_many_float64(handle, factors, factor_info, b, x, info, ierr)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: factors(:, :), b(:, :, :)
    integer(c_int32_t), intent(in), contiguous, target :: factor_info(:)
    real(c_double), intent(out), contiguous, target :: x(:, :, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    call solve_factored_there(handle, SMALLBATCH_FLOAT64, shape(factors), c_loc(factors), factor_info, &
                              shape(b), c_loc(b), shape(x), c_loc(x), info, ierr)
  end subroutine

  subroutine solve_one_float64(handle, a, b, x, info, ierr, uplo, options, backward_error, rcond, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: a(:, :, :), b(:, :)
    real(c_double), intent(out), contiguous, target :: x(:, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    real(c_double), intent(out), optional, contiguous, target :: backward_error(:), rcond(:)
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    numbers%backward_error = address_of_float64(backward_error)
    numbers%rcond = address_of_float64(rcond)
    call solve_there(handle, SMALLBATCH_FLOAT64, shape(a), c_loc(a), [size(b, 1), 1, size(b, 2)], c_loc(b), &
                     [size(x, 1), 1, size(x, 2)], c_loc(x), info, ierr, &
                     [fits_float64(backward_error, size(b, 2)), fits_float64(rcond, size(b, 2))], &
                     numbers, uplo, options, sizes)
  end subroutine

  subroutine solve_one_in_place_float64(handle, a, b, info, ierr, uplo, options, backward_error, rcond, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: a(:, :, :)
    real(c_double), intent(inout), contiguous, target :: b(:, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    real(c_double), intent(out), optional, contiguous, target :: backward_error(:), rcond(:)
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    numbers%backward_error = address_of_float64(backward_error)
    numbers%rcond = address_of_float64(rcond)
    call solve_there(handle, SMALLBATCH_FLOAT64, shape(a), c_loc(a), [size(b, 1), 1, size(b, 2)], c_loc(b), &
                     [size(b, 1), 1, size(b, 2)], c_loc(b), info, ierr, &
                     [fits_float64(backward_error, size(b, 2)), fits_float64(rcond, size(b, 2))], &
                     numbers, uplo, options, sizes)
    if (ierr < -4) ierr = ierr + 1  ! this subroutine has no argument x
  end subroutine

  subroutine solve_factored_one_float64(handle, factors, factor_info, b, x, info, ierr)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: factors(:, :), b(:, :)
    integer(c_int32_t), intent(in), contiguous, target :: factor_info(:)
    real(c_double), intent(out), contiguous, target :: x(:, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    call solve_factored_there(handle, SMALLBATCH_FLOAT64, shape(factors), c_loc(factors), factor_info, &
                              [size(b, 1), 1, size(b, 2)], c_loc(b), [size(x, 1), 1, size(x, 2)], c_loc(x), info, ierr)
  end subroutine

  subroutine inverse_float64(handle, a, x, info, ierr, uplo, options, backward_error, rcond, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: a(:, :, :)
    real(c_double), intent(out), contiguous, target :: x(:, :, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    real(c_double), intent(out), optional, contiguous, target :: backward_error(:), rcond(:)
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    numbers%backward_error = address_of_float64(backward_error)
    numbers%rcond = address_of_float64(rcond)
    ierr = first_misfit([.true., size(a, 1) == size(a, 2), all(shape(x) == shape(a)), size(info) == size(a, 3), &
                         .true., .true., .true., fits_float64(backward_error, size(a, 3)), &
                         fits_float64(rcond, size(a, 3)), fits_sizes(sizes, size(a, 3))])
    if (ierr /= 0) return
    numbers%x = c_loc(x)
    numbers%info = c_loc(info)
    ierr = smallbatch_invert_c(handle, systems_of(SMALLBATCH_FLOAT64, shape(a), c_loc(a), size(a, 3), uplo, sizes), &
                               numbers, address_of_solve_options(options), c_null_ptr, 0_c_size_t)
  end subroutine

  subroutine log_determinant_float64(handle, a, log_determinant, info, ierr, uplo, options, sizes)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: a(:, :, :)
    real(c_double), intent(out), contiguous, target :: log_determinant(:)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_solve_options), intent(in), optional, target :: options
    integer(c_int32_t), intent(in), optional, contiguous, target :: sizes(:)
    type(smallbatch_solutions) :: numbers
    ierr = first_misfit([.true., size(a, 1) == size(a, 2), size(log_determinant) == size(a, 3), &
                         size(info) == size(a, 3), .true., .true., .true., fits_sizes(sizes, size(a, 3))])
    if (ierr /= 0) return
    numbers%log_determinant = c_loc(log_determinant)
    numbers%info = c_loc(info)
    ierr = smallbatch_log_determinant_c(handle, &
                                        systems_of(SMALLBATCH_FLOAT64, shape(a), c_loc(a), size(a, 3), uplo, sizes), &
                                        numbers, address_of_solve_options(options), c_null_ptr, 0_c_size_t)
  end subroutine

  subroutine factor_float64(handle, a, factors, info, ierr, uplo)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: a(:, :, :)
    real(c_double), intent(out), contiguous, target :: factors(:, :)
    integer(c_int32_t), intent(out), contiguous, target :: info(:)
    integer(c_int), intent(out) :: ierr
    character, intent(in), optional :: uplo
    type(smallbatch_factors) :: result
    ierr = first_misfit([.true., size(a, 1) == size(a, 2), &
                         all(shape(factors) == [size(a, 1)*(size(a, 1) + 1)/2, size(a, 3)]), size(info) == size(a, 3)])
    if (ierr /= 0) return
    result%factor = c_loc(factors)
    result%info = c_loc(info)
    ierr = smallbatch_factor_c(handle, systems_of(SMALLBATCH_FLOAT64, shape(a), c_loc(a), size(a, 3), uplo), result, &
                               c_null_ptr, 0_c_size_t)
  end subroutine

  subroutine potential_points_float64(handle, position, charge, point, potential, info, ierr, options, field, &
                                      width)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: position(:, :), charge(:), point(:, :)
    real(c_double), intent(out), contiguous, target :: potential(:)
    integer(c_int32_t), intent(out), target :: info
    integer(c_int), intent(out) :: ierr
    type(smallbatch_potential_options), intent(in), optional, target :: options
    real(c_double), intent(out), optional, contiguous, target :: field(:, :)
    real(c_double), intent(in), optional, contiguous, target :: width(:)
    type(smallbatch_charges) :: charges
    type(smallbatch_targets) :: targets
    type(smallbatch_potentials) :: potentials
    logical :: field_fits
    field_fits = .true.
    if (present(field)) field_fits = all(shape(field) == [3, size(point, 2)])
    ierr = first_misfit([.true., size(position, 1) == 3, size(position, 2) == size(charge), size(point, 1) == 3, &
                         size(potential) == size(point, 2), .true., .true., .true., field_fits, &
                         fits_float64(width, size(charge))])
    if (ierr /= 0) return
    charges%charge_count = size(charge)
    charges%position = c_loc(position)
    charges%charge = c_loc(charge)
    charges%width = address_of_float64(width)
    targets%kind = SMALLBATCH_AT_POINTS
    targets%point_count = size(point, 2)
    targets%point = c_loc(point)
    potentials%type = SMALLBATCH_FLOAT64
    potentials%potential = c_loc(potential)
    potentials%info = c_loc(info)
    if (present(field)) potentials%field = c_loc(field)
    ierr = smallbatch_potential_c(handle, charges, targets, potentials, address_of_potential_options(options), &
                                  c_null_ptr, 0_c_size_t)
  end subroutine

  subroutine potential_lattice_float64(handle, position, charge, origin, spacing, potential, info, ierr, options, field, &
                                       width)
    type(c_ptr), intent(in) :: handle
    real(c_double), intent(in), contiguous, target :: position(:, :), charge(:), origin(:), spacing(:)
    real(c_double), intent(out), contiguous, target :: potential(:, :, :)
    integer(c_int32_t), intent(out), target :: info
    integer(c_int), intent(out) :: ierr
    type(smallbatch_potential_options), intent(in), optional, target :: options
    real(c_double), intent(out), optional, contiguous, target :: field(:, :, :, :)
    real(c_double), intent(in), optional, contiguous, target :: width(:)
    type(smallbatch_charges) :: charges
    type(smallbatch_targets) :: targets
    type(smallbatch_potentials) :: potentials
    logical :: field_fits
    field_fits = .true.
    if (present(field)) field_fits = all(shape(field) == [3, shape(potential)])
    ierr = first_misfit([.true., size(position, 1) == 3, size(position, 2) == size(charge), size(origin) == 3, &
                         size(spacing) == 3, .true., .true., .true., .true., field_fits, &
                         fits_float64(width, size(charge))])
    if (ierr /= 0) return
    charges%charge_count = size(charge)
    charges%position = c_loc(position)
    charges%charge = c_loc(charge)
    charges%width = address_of_float64(width)
    targets%kind = SMALLBATCH_AT_LATTICE
    targets%nx = size(potential, 1)
    targets%ny = size(potential, 2)
    targets%nz = size(potential, 3)
    targets%plane_count = targets%nz
    targets%origin = c_loc(origin)
    targets%spacing = c_loc(spacing)
    potentials%type = SMALLBATCH_FLOAT64
    potentials%potential = c_loc(potential)
    potentials%info = c_loc(info)
    if (present(field)) potentials%field = c_loc(field)
    ierr = smallbatch_potential_c(handle, charges, targets, potentials, address_of_potential_options(options), &
                                  c_null_ptr, 0_c_size_t)
  end subroutine

end module smallbatch
