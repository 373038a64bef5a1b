! The subroutines of the Fortran module's upper level (fortran/smallbatch.f90), against chosen solutions and sums that
! are written out here.
program smallbatch_test
  use smallbatch
  implicit none
  type(c_ptr) :: handle
  integer(c_int) :: ierr
  integer :: failures = 0

  call smallbatch_create(handle, SMALLBATCH_CPU, ierr)
  call expect("a handle", ierr == SMALLBATCH_SUCCESS)
  call smallbatch_set_threads(handle, 2_c_int, ierr)
  call expect("threads", ierr == SMALLBATCH_SUCCESS)
  call check_the_largest_systems()
  call check_solutions_in_double_precision()
  call check_solutions_in_single_precision()
  call check_one_matrix_for_all()
  call check_statuses()
  call check_potentials()
  call check_misfits()
  call check_sentences()
  call smallbatch_destroy(handle)
  call expect("no handle", .not. c_associated(handle))
  if (failures > 0) error stop 1

contains

  subroutine expect(what, is_so)
    character(*), intent(in) :: what
    logical, intent(in) :: is_so
    if (is_so) return
    print *, "wrong: "//what//"; "//smallbatch_last_error(handle)
    failures = failures + 1
  end subroutine

  !> Symmetric matrices with a dominant diagonal, different for each k.
  pure function matrix(n, k) result(a)
    integer, intent(in) :: n, k
    real(c_double) :: a(n, n)
    integer :: i, j
    do j = 1, n
      do i = 1, n
        a(i, j) = mod(i*j + k*(i + j), 5) - 2
        if (i == j) a(i, j) = 3*n + mod(i + k, 4)
      end do
    end do
  end function

  subroutine check_the_largest_systems()
    integer, parameter :: n = SMALLBATCH_MAX_SYSTEM_SIZE, count = 3
    real(c_double), allocatable :: a(:, :, :), b(:, :), x(:, :)
    real(c_double) :: chosen(n)
    integer(c_int32_t) :: info(count)
    integer :: i, k
    allocate (a(n, n, count), b(n, count), x(n, count))
    chosen = [(mod(i, 7) - 3, i=1, n)]
    do k = 1, count
      a(:, :, k) = matrix(n, k)
      b(:, k) = matmul(a(:, :, k), chosen)
    end do
    call smallbatch_solve(handle, a, b, x, info, ierr)
    call expect("the largest systems", ierr == 0 .and. all(info == 0))
    do k = 1, count
      call expect("the largest solutions", all(abs(x(:, k) - chosen) < 1d-12))
    end do
    deallocate (a, b, x)
    allocate (a(n + 1, n + 1, 1), b(n + 1, 1), x(n + 1, 1))
    a = 1
    b = 1
    call smallbatch_solve(handle, a, b, x, info(:1), ierr)
    call expect("too large systems", ierr == SMALLBATCH_INVALID_ARGUMENT)
  end subroutine

  subroutine check_solutions_in_double_precision()
    integer, parameter :: n = 5, nrhs = 3, count = 4
    real(c_double) :: a(n, n, count), upper(n, n, count), b(n, nrhs, count), x(n, nrhs, count), chosen(n, nrhs, count)
    real(c_double) :: inverse(n, n, count), log_determinant(count), error(count), rcond(count), x_one(n, count)
    real(c_double) :: factors(n*(n + 1)/2, count), unit_matrix(n, n), determinant
    real(c_double) :: cut(n, nrhs, count)
    integer(c_int32_t) :: info(count), factor_info(count), sizes(count)
    integer :: i, j, k, r
    unit_matrix = 0
    do i = 1, n
      unit_matrix(i, i) = 1
    end do
    do k = 1, count
      a(:, :, k) = matrix(n, k)
      upper(:, :, k) = a(:, :, k)
      do j = 1, n
        do i = j + 1, n
          upper(i, j, k) = -huge(1d0)  ! no subroutine reads this
        end do
      end do
      do r = 1, nrhs
        chosen(:, r, k) = [(mod(i*r + k, 7) - 3, i=1, n)]
      end do
      b(:, :, k) = matmul(a(:, :, k), chosen(:, :, k))
    end do

    call smallbatch_solve(handle, a, b, x, info, ierr, backward_error=error, rcond=rcond)
    call expect("solve", ierr == 0 .and. all(info == 0) .and. all(abs(x - chosen) < 1d-13))
    call expect("numbers", all(error < 1d-14) .and. all(rcond > 0.1d0) .and. all(rcond <= 1))
    x = 0
    call smallbatch_solve(handle, upper, b, x, info, ierr, uplo='U')
    call expect("upper triangle", ierr == 0 .and. all(abs(x - chosen) < 1d-13))
    x_one = -77
    call smallbatch_solve(handle, a, b(:, 2, :), x_one, info, ierr)
    call expect("one right-hand side each", ierr == 0 .and. all(abs(x_one - chosen(:, 2, :)) < 1d-13))
    x = b
    call smallbatch_solve_in_place(handle, a, x, info, ierr, options=smallbatch_solve_options(SMALLBATCH_LDLT, 0d0))
    call expect("in place", ierr == 0 .and. all(abs(x - chosen) < 1d-13))

    do k = 1, count
      sizes(k) = mod(k, n)
      x(:, :, k) = chosen(:, :, k)
      x(sizes(k) + 1:, :, k) = 0
      cut(:, :, k) = matmul(a(:, :, k), x(:, :, k))
      cut(sizes(k) + 1:, :, k) = huge(1d0)  ! no subroutine reads this
    end do
    inverse = 4711
    call smallbatch_solve_in_place(handle, a, cut, info, ierr, sizes=sizes)
    call expect("sizes", ierr == 0 .and. all(info == 0) .and. all(abs(cut - x) < 1d-13))
    call smallbatch_inverse(handle, a, inverse, info, ierr, sizes=sizes)
    call smallbatch_log_determinant(handle, a, log_determinant, info, ierr, sizes=[(1, k=1, count)])
    call expect("ln det of a_11", ierr == 0 .and. all(abs(log_determinant - log(a(1, 1, :))) < 1d-13))
    do k = 1, count
      call expect("inverse within", all(abs(matmul(a(:sizes(k), :sizes(k), k), inverse(:sizes(k), :sizes(k), k)) - &
                                            unit_matrix(:sizes(k), :sizes(k))) < 1d-14))
      call expect("nothing beyond", all(inverse(sizes(k) + 1:, :, k) == 0) .and. all(inverse(:, sizes(k) + 1:, k) == 0))
    end do
    call smallbatch_solve(handle, a, b, x, info, ierr, sizes=sizes(2:))
    call expect("sizes that do not fit", ierr == -11)

    call smallbatch_factor(handle, upper, factors, factor_info, ierr, 'U')
    call expect("factor", ierr == 0 .and. all(factor_info == 0) .and. abs(factors(1, 1) - a(1, 1, 1)) < 1d-14)
    x = -77
    call smallbatch_solve_factored(handle, factors, factor_info, b, x, info, ierr)
    call expect("solve factored", ierr == 0 .and. all(info == 0) .and. all(abs(x - chosen) < 1d-13))
    x_one = -77
    call smallbatch_solve_factored(handle, factors, factor_info, b(:, 1, :), x_one, info, ierr)
    call expect("solve one factored", ierr == 0 .and. all(abs(x_one - chosen(:, 1, :)) < 1d-13))

    call smallbatch_inverse(handle, a, inverse, info, ierr)
    call smallbatch_log_determinant(handle, a, log_determinant, info, ierr)
    call expect("log_determinant", ierr == 0)
    do k = 1, count
      call expect("inverse", all(abs(matmul(a(:, :, k), inverse(:, :, k)) - unit_matrix) < 1d-14))
      determinant = 1  ! the product of the pivots, by elimination
      do j = 1, n
        determinant = determinant*a(j, j, k)
        do i = j + 1, n
          a(i, :, k) = a(i, :, k) - a(i, j, k)/a(j, j, k)*a(j, :, k)
        end do
      end do
      call expect("ln det", abs(log_determinant(k) - log(determinant)) < 1d-12)
    end do
  end subroutine

  subroutine check_solutions_in_single_precision()
    integer, parameter :: n = 8, count = 3
    real(c_float) :: a(n, n, count), b(n, 2, count), x(n, 2, count), inverse(n, n, count), b_one(n, count)
    real(c_float) :: factors(n*(n + 1)/2, count), rcond(count)
    real(c_double) :: log_determinant(count)
    integer(c_int32_t) :: info(count), factor_info(count)
    integer :: k
    do k = 1, count
      a(:, :, k) = real(matrix(n, k), c_float)
    end do
    b(:, 1, :) = sum(a, 2)  ! b for x = 1
    b(:, 2, :) = -2*b(:, 1, :)
    call smallbatch_solve(handle, a, b, x, info, ierr, uplo='L', rcond=rcond)
    call expect("solve, single", ierr == 0 .and. all(abs(x(:, 1, :) - 1) < 1e-5) .and. all(abs(x(:, 2, :) + 2) < 1e-5))
    call smallbatch_factor(handle, a, factors, factor_info, ierr)
    call smallbatch_solve_factored(handle, factors, factor_info, b, x, info, ierr)
    call expect("solve factored, single", ierr == 0 .and. all(abs(x(:, 2, :) + 2) < 1e-5))
    b_one = b(:, 1, :)
    call smallbatch_solve_in_place(handle, a, b_one, info, ierr)
    call expect("in place, single", ierr == 0 .and. all(abs(b_one - 1) < 1e-5))
    call smallbatch_inverse(handle, a, inverse, info, ierr)
    call expect("inverse, single", ierr == 0 .and. all(abs(matmul(inverse(:, :, 2), b(:, 1, 2)) - 1) < 1e-5))
    call smallbatch_log_determinant(handle, a, log_determinant, info, ierr)
    call expect("ln det, single", ierr == 0 .and. all(log_determinant > n*log(2d0*n)))
  end subroutine

  subroutine check_one_matrix_for_all()
    real(c_double) :: a(2, 2, 1), b(2, 3), x(2, 3), factors(3, 1)
    integer(c_int32_t) :: info(3), factor_info(1)
    a(:, :, 1) = reshape([2, 1, 1, 2], [2, 2])
    b = reshape([3, 3, 6, 6, 0, 3], [2, 3])
    call smallbatch_solve(handle, a, b, x, info, ierr)
    call expect("one matrix", ierr == 0 .and. all(abs(x - reshape([1, 1, 2, 2, -1, 2], [2, 3])) < 1d-15))
    x = 0
    call smallbatch_factor(handle, a, factors, factor_info, ierr)
    call smallbatch_solve_factored(handle, factors, factor_info, b, x, info, ierr)
    call expect("one factor", ierr == 0 .and. all(abs(x - reshape([1, 1, 2, 2, -1, 2], [2, 3])) < 1d-15))
  end subroutine

  subroutine check_statuses()
    real(c_double) :: a(2, 2, 3), b(2, 3), x(2, 3)
    integer(c_int32_t) :: info(3)
    a = 0
    a(1, 1, :) = 1
    a(2, 2, :) = [1, -1, 1]
    a(1, 2, 3) = 0.5d0
    b = 1
    call smallbatch_solve(handle, a, b, x, info, ierr)
    call expect("statuses", ierr == 0 .and. all(info == [0, 2, -2]))
    call expect("what is left of them", all(x(:, 1) == 1) .and. x(1, 2) /= x(1, 2) .and. x(1, 3) /= x(1, 3))
  end subroutine

  subroutine check_potentials()
    real(c_double) :: position(3, 2), charge(2), point(3, 2), potential(2), field(3, 2), energy, each(2), volt
    real(c_float) :: map(3, 2, 2), map_field(3, 3, 2, 2)
    integer(c_int32_t) :: info
    integer :: i
    type(smallbatch_potential_options) :: options
    real(c_double), parameter :: width(2) = [1.5d0, 2d0]  ! together 2.5 for the pair
    position = reshape([0, 0, 0, 3, 0, 0], [3, 2])
    charge = [1, -1]
    point = reshape([0, 4, 0, 3, 4, 0], [3, 2])
    call smallbatch_potential(handle, position, charge, point, potential, info, ierr, field=field)
    call expect("potential", ierr == 0 .and. info == 0 .and. abs(potential(1) - (1/4d0 - 1/5d0)) < 1d-15 &
                .and. abs(potential(2) - (1/5d0 - 1/4d0)) < 1d-15)
    call expect("field", abs(field(2, 1) - (1/16d0 - 4/125d0)) < 1d-15 .and. abs(field(1, 2) - 3/125d0) < 1d-15)
    call smallbatch_potential_unit_factor("volt", 0d0, volt, ierr)
    call expect("volt", ierr == 0 .and. abs(volt - 14.3996454784d0) < 1d-9)
    options%unit_factor = 2
    options%singular = SMALLBATCH_SKIP
    call smallbatch_potential(handle, position, charge, [0d0, 0d0, 0d0], [1d0, 4d0, 1d0], map, info, ierr, &
                              options, map_field)
    call expect("map", ierr == 0 .and. info == 1)
    do i = 1, 3  ! at (i-1, 4, 0)
      call expect("map", abs(map(i, 2, 1) - 2*(1/hypot(i - 1d0, 4d0) - 1/hypot(i - 4d0, 4d0))) < 1e-6)
      call expect("its field", abs(map_field(2, i, 2, 1) &
                                   - 2*(4/hypot(i - 1d0, 4d0)**3 - 4/hypot(i - 4d0, 4d0)**3)) < 1e-6)
    end do
    call expect("a charge on a point", abs(map(1, 1, 1) + 2/3e0) < 1e-6)
    call smallbatch_pair_energy(handle, position, charge, energy, info, ierr, energy_per_charge=each)
    call expect("pair energy", ierr == 0 .and. info == 0 .and. abs(energy + 1/3d0) < 1d-15 &
                .and. abs(each(2) + 1/6d0) < 1d-15)
    options = smallbatch_potential_options(screening_length=2)
    call smallbatch_pair_energy(handle, position, charge, energy, info, ierr, options)
    call expect("screened pair energy", ierr == 0 .and. abs(energy + exp(-1.5d0)/3) < 1d-15)
    call smallbatch_potential(handle, position, charge, point, potential, info, ierr, options)
    call expect("screened potential", ierr == 0 .and. abs(potential(1) - (exp(-2d0)/4 - exp(-2.5d0)/5)) < 1d-15)
    call smallbatch_potential(handle, position, charge, position, potential, info, ierr, width=width)
    call expect("Gaussian potential", ierr == 0 .and. info == 0 &
                .and. abs(potential(1) - (sqrt(2/acos(-1d0))/width(1) - erf(3/(sqrt(2d0)*width(2)))/3)) < 1d-14)
    call smallbatch_potential(handle, position, charge, [0d0, 0d0, 0d0], [1d0, 4d0, 1d0], map, info, ierr, width=width)
    call expect("Gaussian map", ierr == 0 .and. info == 0 .and. abs(map(1, 1, 1) - potential(1)) < 1e-6)
    call smallbatch_pair_energy(handle, position, charge, energy, info, ierr, width=width)
    call expect("Gaussian pair energy", ierr == 0 .and. abs(energy + erf(3/(sqrt(2d0)*2.5d0))/3) < 1d-15)
    call smallbatch_pair_energy(handle, position, charge, energy, info, ierr, width=width(1:1))
    call expect("widths of other charges", ierr == -10)
    call smallbatch_pair_energy(handle, position, charge, energy, info, ierr, options, width=width)
    call expect("screened Gaussian charges", ierr == SMALLBATCH_INVALID_ARGUMENT)
  end subroutine

  subroutine check_misfits()
    real(c_double) :: a(3, 3, 2), b(3, 1, 2), x(3, 1, 2), short(3, 1, 1), error(1)
    real(c_double) :: position(3, 2), charge(2), energy
    integer(c_int32_t) :: info(2), one_info
    a = 1
    b = 1
    x = -77
    call smallbatch_solve(handle, a(:, 1:2, :), b, x, info, ierr)
    call expect("a that is not square", ierr == -2)
    call smallbatch_solve(handle, a, b(1:2, :, :), x, info, ierr)
    call expect("b of other rows", ierr == -3)
    call smallbatch_solve(handle, a, b, short, info, ierr)
    call expect("x of other systems", ierr == -4)
    call smallbatch_solve(handle, a, b, x, info(1:1), ierr)
    call expect("info of other systems", ierr == -5)
    call smallbatch_solve_in_place(handle, a, b, info(1:1), ierr)
    call expect("info of other systems, in place", ierr == -4)
    call smallbatch_solve(handle, a, b, x, info, ierr, backward_error=error)
    call expect("backward errors of other systems", ierr == -9)
    call smallbatch_inverse(handle, a, x, info, ierr)
    call expect("an inverse of another shape", ierr == -3)
    position = 0
    charge = 1
    call smallbatch_pair_energy(handle, position, charge(1:1), energy, one_info, ierr)
    call expect("charges of other positions", ierr == -3)
    call expect("words for it", smallbatch_status_text(ierr) == "the shape of argument 3 does not fit the others")
    call expect("x as it was", all(x == -77))
    call smallbatch_solve(handle, a, b, x, info, ierr, uplo='x')
    call expect("no triangle", ierr == SMALLBATCH_INVALID_ARGUMENT)
    call expect("its sentence", index(smallbatch_last_error(handle), "systems->storage is -1") == 1)
  end subroutine

  subroutine check_sentences()
    type(c_ptr) :: none
    call smallbatch_create(none, 99_c_int, ierr)
    call expect("no backend", ierr == SMALLBATCH_INVALID_ARGUMENT .and. .not. c_associated(none))
    call expect("its sentence", index(smallbatch_last_error(), "backend is 99") > 0)
    call expect("status", smallbatch_status_text(SMALLBATCH_NO_DEVICE) == "no device")
    call expect("info", smallbatch_describe_solve_info(3_c_int32_t) == "pivot 3 is not positive")
    call expect("version", index(smallbatch_version(), ".") > 0)
  end subroutine

end program smallbatch_test
