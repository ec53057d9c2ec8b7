-- The attempts at an offer that its provider failed, for the operator's list of offers.
alter table market_offer_hour add column failed bigint;
comment on column market_offer_hour.failed is
  'Attempts that the provider failed. Null in hours that were summed before the column was there.';

-- Hours that are summed already are summed once more.
insert into market_due (grain, starts_at)
  select distinct 'hour', starts_at from market_offer_hour
  on conflict do nothing;
