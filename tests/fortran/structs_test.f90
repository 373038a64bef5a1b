! Every struct of smallbatch.h has the same layout in Fortran and in C. The file structs.c fills the members, and this
! test reads them.
program structs_test
  use smallbatch
  implicit none
  interface
    subroutine fill_systems(s, bytes) bind(c)
      import
      type(smallbatch_systems), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
    subroutine fill_solutions(s, bytes) bind(c)
      import
      type(smallbatch_solutions), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
    subroutine fill_solve_options(s, bytes) bind(c)
      import
      type(smallbatch_solve_options), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
    subroutine fill_factors(s, bytes) bind(c)
      import
      type(smallbatch_factors), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
    subroutine fill_charges(s, bytes) bind(c)
      import
      type(smallbatch_charges), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
    subroutine fill_targets(s, bytes) bind(c)
      import
      type(smallbatch_targets), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
    subroutine fill_potential_options(s, bytes) bind(c)
      import
      type(smallbatch_potential_options), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
    subroutine fill_potential_summary(s, bytes) bind(c)
      import
      type(smallbatch_potential_summary), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
    subroutine fill_potentials(s, bytes) bind(c)
      import
      type(smallbatch_potentials), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
    subroutine fill_pair_energies(s, bytes) bind(c)
      import
      type(smallbatch_pair_energies), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
    subroutine fill_signals(s, bytes) bind(c)
      import
      type(smallbatch_signals), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
    subroutine fill_visibilities(s, bytes) bind(c)
      import
      type(smallbatch_visibilities), intent(out) :: s
      integer(c_size_t), intent(out) :: bytes
    end subroutine
  end interface
  integer :: failures = 0
  call check_structs()
  if (failures > 0) error stop 1
contains

  subroutine check_structs()
    integer(c_size_t) :: bytes
    type(smallbatch_systems) :: systems
    type(smallbatch_solutions) :: solutions
    type(smallbatch_solve_options) :: solve_options
    type(smallbatch_factors) :: factors
    type(smallbatch_charges) :: charges
    type(smallbatch_targets) :: targets
    type(smallbatch_potential_options) :: potential_options
    type(smallbatch_potential_summary) :: potential_summary
    type(smallbatch_potentials) :: potentials
    type(smallbatch_pair_energies) :: pair_energies
    type(smallbatch_signals) :: signals
    type(smallbatch_visibilities) :: visibilities
    call fill_systems(systems, bytes)
    call expect("systems", bytes == c_sizeof(systems), [ &
                systems%type == 1, systems%memory == 2, systems%n == 3, systems%nrhs == 4, &
                systems%count == 5, systems%order == 6, systems%storage == 7, address(systems%a) == 8, &
                address(systems%a_array) == 9, systems%lda == 10, systems%a_stride == 11, &
                address(systems%b) == 12, address(systems%b_array) == 13, systems%ldb == 14, &
                systems%b_stride == 15, address(systems%sizes) == 16])
    call fill_solutions(solutions, bytes)
    call expect("solutions", bytes == c_sizeof(solutions), [ &
                address(solutions%x) == 1, address(solutions%x_array) == 2, solutions%ldx == 3, &
                solutions%x_stride == 4, address(solutions%info) == 5, &
                address(solutions%backward_error) == 6, address(solutions%rcond) == 7, &
                address(solutions%smallest_pivot) == 8, address(solutions%log_determinant) == 9, &
                address(solutions%repaired) == 10, address(solutions%perturbation) == 11])
    call fill_solve_options(solve_options, bytes)
    call expect("solve_options", bytes == c_sizeof(solve_options), [ &
                solve_options%method == 1, solve_options%pivot_floor == 2])
    call fill_factors(factors, bytes)
    call expect("factors", bytes == c_sizeof(factors), [ &
                address(factors%factor) == 1, factors%stride == 2, address(factors%info) == 3, &
                address(factors%smallest_pivot) == 4, address(factors%log_determinant) == 5])
    call fill_charges(charges, bytes)
    call expect("charges", bytes == c_sizeof(charges), [ &
                charges%memory == 1, charges%count == 2, charges%charge_count == 3, &
                address(charges%offset) == 4, address(charges%position) == 5, &
                address(charges%charge) == 6, address(charges%xyzq) == 7, charges%xyzq_type == 8, &
                address(charges%group) == 9, address(charges%width) == 10])
    call fill_targets(targets, bytes)
    call expect("targets", bytes == c_sizeof(targets), [ &
                targets%kind == 1, targets%nx == 2, targets%ny == 3, targets%nz == 4, &
                address(targets%origin) == 5, address(targets%spacing) == 6, targets%first_plane == 7, &
                targets%plane_count == 8, targets%smallest_spacing == 9, targets%point_count == 10, &
                address(targets%point_offset) == 11, address(targets%point) == 12])
    call fill_potential_options(potential_options, bytes)
    call expect("potential_options", bytes == c_sizeof(potential_options), [ &
                potential_options%singular == 1, potential_options%unit_factor == 2, &
                potential_options%softening == 3, potential_options%cutoff == 4, &
                potential_options%screening_length == 5])
    call fill_potential_summary(potential_summary, bytes)
    call expect("potential_summary", bytes == c_sizeof(potential_summary), [ &
                potential_summary%lowest == 1, potential_summary%highest == 2, &
                potential_summary%sum == 3, potential_summary%values == 4])
    call fill_potentials(potentials, bytes)
    call expect("potentials", bytes == c_sizeof(potentials), [ &
                potentials%type == 1, address(potentials%potential) == 2, &
                address(potentials%field) == 3, address(potentials%info) == 4, &
                address(potentials%energy) == 5, address(potentials%summary) == 6])
    call fill_pair_energies(pair_energies, bytes)
    call expect("pair_energies", bytes == c_sizeof(pair_energies), [ &
                pair_energies%precision == 1, address(pair_energies%energy) == 2, &
                address(pair_energies%info) == 3, address(pair_energies%energy_per_charge) == 4])
    call fill_signals(signals, bytes)
    call expect("signals", bytes == c_sizeof(signals), [ &
                signals%memory == 1, signals%type == 2, signals%channels == 3, signals%times == 4, &
                signals%inputs == 5, signals%integrate == 6, address(signals%signal) == 7, &
                address(signals%flag) == 8])
    call fill_visibilities(visibilities, bytes)
    call expect("visibilities", bytes == c_sizeof(visibilities), [ &
                visibilities%type == 1, address(visibilities%visibility) == 2, &
                address(visibilities%weight) == 3, address(visibilities%info) == 4])
  end subroutine

  subroutine expect(name, size_agrees, members_agree)
    character(*), intent(in) :: name
    logical, intent(in) :: size_agrees, members_agree(:)
    integer :: k
    if (.not. size_agrees) print *, "smallbatch_"//name//" has another size"
    do k = 1, size(members_agree)
      if (.not. members_agree(k)) print *, "member ", k, " of smallbatch_"//name//" lies elsewhere"
    end do
    if (.not. size_agrees .or. .not. all(members_agree)) failures = failures + 1
  end subroutine

  pure function address(pointer)
    type(c_ptr), intent(in) :: pointer
    integer(c_intptr_t) :: address
    address = transfer(pointer, address)
  end function

end program structs_test
