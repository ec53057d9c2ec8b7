-- What can be bought, from whom it may come, and what it costs at the reference.

-- The allow-list: keys are sent to these hosts and to no other.
create table provider (
  id text collate "C" primary key check (id ~ '^[a-z0-9][a-z0-9-]{0,63}$'),
  name text not null check (length(name) between 1 and 200),
  base_url text not null check (length(base_url) <= 2048),
  host text collate "C" not null,
  is_trusted boolean not null,
  cost_reference_url text,
  updated_at timestamptz not null,
  constraint provider_one_host unique (host)
);

-- `body` is the model as the catalogue describes it. The columns beside it are what other rows and lists need.
create table model (
  id text collate "C" primary key check (length(id) between 1 and 128),
  is_sandbox boolean not null,
  body jsonb not null,
  updated_at timestamptz not null
);

-- An exact name means one model, whatever the catalogue says.
create table model_alias (
  alias text collate "C" primary key check (alias = lower(alias)),
  model text collate "C" not null references model (id),
  -- A name that an operator gave by hand outlives the next import.
  is_manual boolean not null default false
);
-- The names of a model; an import replaces them.
create index model_alias_by_model on model_alias (model);

-- Reference prices, one version after another. What counts is the latest whose time has come.
create table model_price (
  version text collate "C" primary key,
  model text collate "C" not null references model (id),
  effective_at timestamptz not null,
  source text not null,
  -- Pico-USD by usage class, as decimal strings.
  unit_prices jsonb not null
);
-- Finds the latest price of a model.
create unique index model_price_by_model on model_price (model, effective_at, version);
-- A charge names the version it was computed with, so a version stays as it was.
create trigger model_price_stays before update or delete on model_price
  for each row execute function refuse_change();

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
-- The history of a model.
create index catalog_change_by_model on catalog_change (model, id);
create trigger catalog_change_stays before update or delete on catalog_change
  for each row execute function refuse_change();
