! Solves a thousand small systems and evaluates the potential of two ions. A GPU computes if the machine has one,
! otherwise all cores. Prints the answers, and ends with 1 if they are wrong.
program main
  use smallbatch
  implicit none
  type(c_ptr) :: handle
  integer(c_int) :: ierr
  logical :: is_right

  call smallbatch_create(handle, SMALLBATCH_AUTO, ierr)
  if (ierr /= SMALLBATCH_SUCCESS) then
    print '(a)', smallbatch_last_error()
    error stop 1
  end if
  is_right = .true.
  call solve()
  call evaluate()
  call smallbatch_destroy(handle)
  if (.not. is_right) error stop 1

contains

  ! System k has A = tridiagonal (-1, 2 + 1/k, -1) and b = A (1, 1, ..., 1), so every x is 1.
  subroutine solve()
    integer, parameter :: n = 24, count = 1000
    real(c_double), allocatable :: a(:, :, :), b(:, :), x(:, :), backward_error(:)
    integer(c_int32_t), allocatable :: info(:)
    integer :: i, k

    allocate (a(n, n, count), b(n, count), x(n, count), backward_error(count), info(count))
    a = 0
    do k = 1, count
      do i = 1, n
        a(i, i, k) = 2 + 1d0/k
        if (i > 1) a(i, i - 1, k) = -1
        if (i < n) a(i, i + 1, k) = -1
      end do
    end do
    b = sum(a, 2)

    call smallbatch_solve(handle, a, b, x, info, ierr, backward_error=backward_error)
    if (ierr /= SMALLBATCH_SUCCESS) print '(a)', smallbatch_last_error(handle)
    do k = 1, count
      if (info(k) /= 0) print '(a,i0,2a)', "system ", k, ": ", smallbatch_describe_solve_info(info(k))
    end do
    print '(2(a,es8.1))', "backward error of the first system", backward_error(1), ", largest error of x", &
        maxval(abs(x - 1))
    is_right = is_right .and. ierr == SMALLBATCH_SUCCESS .and. all(abs(x - 1) < 1d-9)
  end subroutine

  ! V of Na+ at x = 0 and Cl- at x = 2.82 angstrom, at two points.
  subroutine evaluate()
    real(c_double), parameter :: ions(3, 2) = reshape([0d0, 0d0, 0d0, 2.82d0, 0d0, 0d0], [3, 2])
    real(c_double), parameter :: charges(2) = [1, -1]
    real(c_double), parameter :: points(3, 2) = reshape([-1, 0, 0, 0, 3, 0], [3, 2])
    real(c_double) :: potential(2), expected(2)
    type(smallbatch_potential_options) :: options
    integer(c_int32_t) :: info

    call smallbatch_potential_unit_factor("volt", 0d0, options%unit_factor, ierr)
    call smallbatch_potential(handle, ions, charges, points, potential, info, ierr, options)
    print '(a,f9.6,a,f9.6,2a)', "V =", potential(1), " and", potential(2), " volt; status: ", &
        smallbatch_describe_potential_info(info)
    expected = 14.3996454784d0*[1 - 1/3.82d0, 1/3d0 - 1/hypot(2.82d0, 3d0)]
    is_right = is_right .and. ierr == SMALLBATCH_SUCCESS .and. all(abs(potential/expected - 1) < 1d-9)
  end subroutine

end program main
