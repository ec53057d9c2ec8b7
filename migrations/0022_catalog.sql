-- What can be bought, from whom it may come, and what it costs at the reference.

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

-- `body` is the model as the catalogue describes it; the columns beside it are what other rows and lists need.
create table model (
  id text collate "C" primary key check (length(id) between 1 and 128),
  is_sandbox boolean not null,
  body jsonb not null,
  updated_at timestamptz not null
);

-- An exact name means one model, whatever the catalogue says.
create table model_alias (
  alias text collate "C" primary key check (alias = lower(alias)),
  model text collate "C" not null references model (id)
);
create index model_alias_by_model on model_alias (model);

-- Reference prices, one version after another; what counts is the latest whose time has come.
create table model_price (
  version text collate "C" primary key,
  model text collate "C" not null references model (id),
  effective_at timestamptz not null,
  source text not null,
  -- Pico-USD by usage class, as decimal strings.
  unit_prices jsonb not null
);
create unique index model_price_by_model on model_price (model, effective_at, version);
create trigger model_price_stays before update or delete on model_price
  for each row execute function refuse_change();
