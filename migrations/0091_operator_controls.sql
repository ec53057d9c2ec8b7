-- What operators turn without a restart. A name without a row has its default.

create table feature_switch (
  name text collate "C" primary key check (name ~ '^[a-z][a-z0-9_]{0,63}$'),
  is_on boolean not null,
  reason text not null check (length(reason) between 1 and 500),
  changed_at timestamptz not null,
  changed_by text not null
);

-- Calls a minute by kind of call; `key_in_flight` counts calls that run at once.
create table rate_limit (
  name text collate "C" primary key check (name ~ '^[a-z][a-z0-9_]{0,63}$'),
  per_key int not null check (per_key between 1 and 1000000),
  -- Over all keys of a wallet; null sets none.
  per_wallet int check (per_wallet between 1 and 1000000),
  changed_at timestamptz not null,
  changed_by text not null
);
