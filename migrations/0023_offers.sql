-- Provider keys, sealed, and the capacity sold with them.

create table credential (
  id text collate "C" primary key check (id ~ '^crd_[0-9A-Za-z_-]{1,64}$'),
  -- Account of the owner, the host it may go to and the purpose: bound into the ciphertext.
  tenant text collate "C" not null references account (id),
  host text collate "C" not null,
  purpose text not null check (purpose in ('offer', 'resource', 'own-provider')),
  base_url text not null,
  -- HMAC of host and key: finds equal credentials without opening any.
  fingerprint text collate "C" not null check (fingerprint ~ '^[0-9a-f]{64}$'),
  label text check (length(label) <= 200),
  sealed jsonb not null,
  created_at timestamptz not null,
  constraint credential_once unique (tenant, purpose, fingerprint),
  constraint credential_sealed_for check (
    sealed ->> 'id' = id and sealed ->> 'tenant' = tenant and sealed ->> 'host' = host and sealed ->> 'purpose' = purpose)
);

create table offer (
  id text collate "C" primary key check (id ~ '^ofr_[0-9A-Za-z_-]{1,64}$'),
  seller_account text collate "C" not null references account (id),
  model text collate "C" not null references model (id),
  provider text collate "C" not null references provider (id),
  credential_id text collate "C" not null references credential (id),
  -- The credential's fingerprint again, so that one index can see model, address and key of every seller.
  fingerprint text collate "C" not null,
  base_url text not null,
  api_format text not null check (api_format in ('openai', 'messages')),
  provider_model text not null check (length(provider_model) between 1 and 200),
  pricing_mode text not null check (pricing_mode in ('discount', 'cost_multiplier')),
  kept_bps smallint not null check (kept_bps between 0 and 10000),
  cap_daily_micro bigint check (cap_daily_micro > 0),
  payout_address text check (payout_address ~ '^0x[0-9a-f]{40}$'),
  label text check (length(label) <= 200),
  status text not null check (status in ('active', 'paused', 'inactive')),
  -- Set by the operator; such an offer is never active.
  delisted_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint offer_delisted_is_off check (delisted_reason is null or status <> 'active')
);
create unique index offer_one_active_per_credential on offer (fingerprint, base_url, model) where status = 'active';
create index offer_by_seller on offer (seller_account, id);
create index offer_on_sale on offer (model, id) where status = 'active';
