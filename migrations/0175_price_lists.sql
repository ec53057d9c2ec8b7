-- Prices of a model that count under conditions: a size of the prompt, a service tier, hours and days.

alter table model_price add column overrides jsonb not null default '[]';
-- Every new version says what its conditions are.
alter table model_price alter column overrides drop default;
comment on column model_price.overrides is 'Prices that count while their conditions hold, the last one first in rank. Each has `when` and `unitPrices`.';

alter table settlement
  add column price_conditions text[] not null default '{}',
  add column searches bigint not null default 0 check (searches >= 0);
comment on column settlement.price_conditions is 'The conditions of the price list that held for the call, in words.';
comment on column settlement.searches is 'Web searches that the provider billed.';
