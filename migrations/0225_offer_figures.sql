-- The calls and the earnings of an offer in an hour, for the figures of a seller's offers.
alter table market_offer_hour
  add column calls bigint,
  add column net_micro bigint;
comment on column market_offer_hour.calls is
  'Calls that were paid, or served for nothing. Null in hours that were summed before the column was there.';
comment on column market_offer_hour.net_micro is
  'What the seller earned, in micro-USD. Null in hours that were summed before the column was there.';

-- The figures of a seller's offers read the hours of each offer.
create index market_offer_hour_by_offer on market_offer_hour (offer, starts_at);

-- Hours that are summed already are summed once more.
insert into market_due (grain, starts_at)
  select distinct 'hour', starts_at from market_offer_hour
  on conflict do nothing;
