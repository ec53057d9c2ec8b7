-- A seller may allow members of requests that other sellers are not sent. The code lists the words, so a new one needs no
-- migration.
alter table offer
  add column passes text[] not null default '{}',
  add constraint offer_passes_check check (cardinality(passes) <= 40);
comment on column offer.passes is 'Members of requests that the seller allows: `unknown`, and surcharges by their names.';
