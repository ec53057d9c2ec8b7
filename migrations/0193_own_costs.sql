-- The cost of a call by the provider's own account, where its answer says it.

alter table settlement add column own_cost_pico bigint check (own_cost_pico >= 0);
comment on column settlement.own_cost_pico is 'Cost by the provider''s own account, in pico-USD. Null where its answer has none.';
