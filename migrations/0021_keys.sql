-- API keys, by the HMAC of the key; the key itself stands nowhere.

create table api_key (
  id text collate "C" primary key check (id ~ '^key_[0-9A-Za-z_-]{1,64}$'),
  type text not null check (type in ('buyer', 'seller', 'management')),
  -- What a management key may reach; null for the keys of wallets.
  scope text check (scope in ('org', 'operator')),
  user_id text collate "C" references app_user (id),
  hash text collate "C" not null check (hash ~ '^[0-9a-f]{64}$'),
  key_prefix text not null,
  label text not null check (length(label) between 1 and 200),
  min_discount_pct smallint check (min_discount_pct between 0 and 100),
  providers_blocked text[] not null default '{}',
  allows_untrusted boolean,
  cap_daily_micro bigint check (cap_daily_micro > 0),
  cap_monthly_micro bigint check (cap_monthly_micro > 0),
  rate_per_minute int check (rate_per_minute > 0),
  models_allowed text[],
  created_at timestamptz not null,
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  constraint api_key_one_hash unique (hash),
  constraint api_key_owner check ((type = 'management') = (user_id is null)),
  constraint api_key_scope check ((type = 'management') = (scope is not null))
);
create index api_key_by_user on api_key (user_id, type, id);

-- Revoking is for good.
create function keep_revoked() returns trigger language plpgsql as $$
begin
  if old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at then
    raise exception 'a revoked key stays revoked' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger api_key_stays_revoked before update on api_key for each row execute function keep_revoked();

-- Keys whose record in the key store is behind; written with the change, removed when the store has it.
create table key_change (
  seq bigint generated always as identity primary key,
  key_id text collate "C" not null references api_key (id)
);
