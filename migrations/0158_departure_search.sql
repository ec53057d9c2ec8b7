-- A departure without a row is looked for among the names of all sellers, some thousand a turn. The place where the next turn
-- goes on is kept.
alter table treasury_move
  add column sought_among text check (sought_among in ('paid_there', 'all')),
  -- The last account that was looked through.
  add column sought_after text,
  add constraint treasury_move_sought_whole check ((sought_among is null) = (sought_after is null));
create index offer_by_payout_address on offer (payout_address) where payout_address is not null;
