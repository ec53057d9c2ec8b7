-- What callers prove themselves with: API keys, wallet sign-ins and browser sessions.
-- A secret stands nowhere, only its HMAC.

create table api_key (
  id text collate "C" primary key check (id ~ '^key_[0-9A-Za-z_-]{1,64}$'),
  type text not null check (type in ('buyer', 'seller', 'management')),
  -- What a management key may reach; null for the keys of wallets.
  scope text check (scope in ('org', 'operator')),
  user_id text collate "C" references app_user (id),
  -- Of a member's key: the workspace whose accounts it uses in place of the wallet's own.
  workspace_id text collate "C" references workspace (id),
  -- Of a management key: whose it is, what it may do there, and which member made it.
  organization_id text collate "C" references organization (id),
  organization_role text check (organization_role in ('admin', 'developer', 'billing', 'viewer')),
  made_by text collate "C" references app_user (id),
  hash text collate "C" not null check (hash ~ '^[0-9a-f]{64}$'),
  key_prefix text not null,
  label text not null check (length(label) between 1 and 200),
  min_discount_pct smallint check (min_discount_pct between 0 and 100),
  providers_blocked text[] not null default '{}',
  allows_untrusted boolean,
  cap_daily_micro bigint check (cap_daily_micro > 0),
  cap_monthly_micro bigint check (cap_monthly_micro > 0),
  rate_per_minute int check (rate_per_minute > 0),
  -- Null allows every model.
  models_allowed text[],
  created_at timestamptz not null,
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  constraint api_key_one_hash unique (hash),
  constraint api_key_owner check ((type = 'management') = (user_id is null)),
  constraint api_key_scope check ((type = 'management') = (scope is not null)),
  -- A revoked key needs no organisation: it reaches none.
  constraint api_key_organization check (
    scope is distinct from 'org' or revoked_at is not null or organization_id is not null),
  constraint api_key_organization_role check ((organization_id is null) = (organization_role is null)),
  constraint api_key_workspace check (workspace_id is null or user_id is not null)
);
-- A wallet lists its keys of one type.
create index api_key_by_user on api_key (user_id, type, id);
-- An organisation and a workspace list theirs.
create index api_key_by_organization on api_key (organization_id, id) where organization_id is not null;
create index api_key_by_workspace on api_key (workspace_id, id) where workspace_id is not null;

-- Revoking is for good.
create function keep_revoked() returns trigger language plpgsql as $$
begin
  if old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at then
    raise exception 'a revoked key stays revoked' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger api_key_stays_revoked before update on api_key for each row execute function keep_revoked();

create function refuse_key_of_closed() returns trigger language plpgsql as $$
begin
  perform refuse_closed_workspace(new.workspace_id);
  return new;
end $$;
create trigger api_key_of_open_workspace before insert on api_key for each row
  when (new.workspace_id is not null) execute function refuse_key_of_closed();

-- Secrets that a key had before its last rotation: each works beside the new one until its window is over. All of them
-- are one key, with one id, one set of limits and one count of what is spent.
create table key_former_secret (
  hash text collate "C" primary key check (hash ~ '^[0-9a-f]{64}$'),
  key_id text collate "C" not null references api_key (id),
  key_prefix text not null,
  replaced_at timestamptz not null,
  expires_at timestamptz not null,
  constraint key_former_secret_window check (expires_at between replaced_at and replaced_at + interval '7 days')
);
-- The secrets of a key that still work.
create index key_former_secret_by_key on key_former_secret (key_id, expires_at);

-- The outbox to the key store: keys whose record there is behind. A row is written with the change, and removed when the
-- store has it.
create table key_change (
  seq bigint generated always as identity primary key,
  key_id text collate "C" not null references api_key (id)
);

-- Until when the uses of keys have been noted. Calls that are posted while nobody looks are found by the next look.
create table key_use_mark (
  id boolean primary key default true check (id),
  noted_until timestamptz not null
);
insert into key_use_mark (noted_until) values (now());

-- A nonce of a wallet sign-in proves its own origin. What has to be remembered is that it was used, until it would be too
-- old anyway.
create table used_nonce (
  nonce text collate "C" primary key check (nonce ~ '^[0-9a-f]{64}$'),
  expires_at timestamptz not null
);
-- Those past their end are removed.
create index used_nonce_by_end on used_nonce (expires_at);

-- Sessions of browsers, by the HMAC of their cookie.
create table web_session (
  id text collate "C" primary key check (id ~ '^ses_[0-9A-Za-z_-]{1,64}$'),
  hash text collate "C" not null check (hash ~ '^[0-9a-f]{64}$'),
  user_id text collate "C" not null references app_user (id),
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  constraint web_session_one_hash unique (hash)
);
-- A user lists and ends its sessions.
create index web_session_by_user on web_session (user_id, id);
-- Those past their end are removed.
create index web_session_by_end on web_session (expires_at);
