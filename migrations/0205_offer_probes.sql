-- The test calls of an offer: the endpoints that its provider did not serve, and what the calls have cost its seller.

alter table offer
  add column without_endpoints text[] not null default '{}',
  add column probe_cost_micro bigint check (probe_cost_micro >= 0),
  add constraint offer_without_endpoints check (cardinality(without_endpoints) <= 40);
comment on column offer.without_endpoints is 'Endpoints of the model that the provider refused in a test call. The offer is not sold on them.';
comment on column offer.probe_cost_micro is 'Cost of all test calls at the list price, in micro-USD. Null where the cost of one is unknown.';
