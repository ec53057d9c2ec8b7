-- An operator also takes its capital out of the treasury.
alter table treasury_move drop constraint treasury_move_kind_fits, add constraint treasury_move_kind_fits check (
  kind in ('new', 'unknown', 'sweep', 'capital') or (kind = 'payout') = (direction = 'out'));
