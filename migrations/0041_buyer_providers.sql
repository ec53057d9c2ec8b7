-- What a buyer wants of every call, and the provider keys of its own that it calls with.

create table buyer_preference (
  account text collate "C" primary key references account (id),
  allows_untrusted boolean not null,
  providers_blocked text[] not null,
  min_discount_pct smallint check (min_discount_pct between 0 and 100),
  updated_at timestamptz not null
);

create table own_provider (
  id text collate "C" primary key check (id ~ '^prv_[0-9A-Za-z_-]{1,64}$'),
  account text collate "C" not null references account (id),
  provider text collate "C" not null references provider (id),
  credential_id text collate "C" not null references credential (id),
  -- Null serves every model, after the marketplace; a row with a model is tried before it.
  model text collate "C" references model (id),
  provider_model text check (length(provider_model) between 1 and 200),
  base_url text not null,
  api_format text not null check (api_format in ('openai', 'messages')),
  priority integer not null check (priority between 0 and 1000),
  label text check (length(label) <= 200),
  created_at timestamptz not null
);
create index own_provider_by_account on own_provider (account, priority, id);
create index own_provider_by_credential on own_provider (credential_id);
