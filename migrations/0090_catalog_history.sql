-- What was changed in the catalogue: one row for each field of each model, with where the new value comes from.

create table catalog_change (
  id text collate "C" primary key,
  at timestamptz not null,
  -- From when it counts: prices may wait, everything else counts at once.
  effective_at timestamptz not null,
  model text collate "C" not null,
  -- `added`, a field of the model, or `price.` and a usage class.
  field text not null check (length(field) between 1 and 100),
  before jsonb,
  after jsonb,
  source text not null check (length(source) between 1 and 500),
  actor text not null
);
create index catalog_change_by_model on catalog_change (model, id);
create trigger catalog_change_stays before update or delete on catalog_change
  for each row execute function refuse_change();

-- A name that an operator gave by hand outlives the next import.
alter table model_alias add column is_manual boolean not null default false;
