-- Provider keys that sellers lend whole: each is an offer with a sealed key of its own.
create table lent_offer (
  id text collate "C" primary key check (id ~ '^ofr_[0-9A-Za-z_-]{1,64}$'),
  seller_account text collate "C" not null references account (id),
  resource text collate "C" not null references resource (id),
  credential_id text collate "C" not null unique check (credential_id ~ '^crd_[0-9A-Za-z_-]{1,64}$'),
  -- HMAC of resource and key: finds equal keys of all sellers without opening any. It outlives the key.
  fingerprint text collate "C" not null check (fingerprint ~ '^[0-9a-f]{64}$'),
  -- The wrapped data key and the ciphertext, in one value. Null once the key was destroyed.
  sealed jsonb,
  purged_at timestamptz,
  kept_bps smallint not null check (kept_bps between 2000 and 9500),
  cap_daily_micro bigint check (cap_daily_micro > 0),
  label text check (length(label) <= 200),
  -- The seller's rules. Null allows all that the record of the resource allows.
  models text[] check (cardinality(models) between 1 and 100),
  methods text[] check (cardinality(methods) between 1 and 3),
  paths text[] check (cardinality(paths) between 1 and 100),
  rate_per_minute integer check (rate_per_minute between 1 and 1000000),
  buyer_share_pct smallint check (buyer_share_pct between 1 and 100),
  -- Traits that the seller declares, and those that the probe's answer showed.
  traits_declared text[] not null,
  traits_probed text[] not null,
  -- When the seller confirmed that state stays in the account, and that the provider's terms allow lending it.
  acknowledged_at timestamptz not null,
  status text not null check (status in ('active', 'paused', 'delisted')),
  -- Set by the operator; such an offer is never active.
  delisted_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint lent_offer_purged_has_no_key check ((sealed is null) = (purged_at is not null)),
  constraint lent_offer_purged_is_off check (purged_at is null or status = 'delisted'),
  constraint lent_offer_delisted_is_off check (delisted_reason is null or status <> 'active'),
  constraint lent_offer_share_is_of_a_cap check (buyer_share_pct is null or cap_daily_micro is not null),
  -- The columns say the same as the text that is bound into the ciphertext.
  constraint lent_offer_sealed_for check (sealed ->> 'id' = credential_id and sealed ->> 'tenant' = seller_account
    and sealed ->> 'host' = resource and sealed ->> 'purpose' = 'resource')
);
-- A key is lent once at a time, whoever lends it.
create unique index lent_offer_one_active_per_key on lent_offer (fingerprint) where status = 'active';
-- A seller lists its offers.
create index lent_offer_by_seller on lent_offer (seller_account, id);
-- The document of a resource, with what left the market a while ago.
create index lent_offer_by_resource on lent_offer (resource, status, updated_at);

create trigger lent_offer_of_open_workspace before insert on lent_offer for each row
  execute function refuse_offer_of_closed();
create trigger lent_offer_cap_noted after update of cap_daily_micro on lent_offer for each row
  when (old.cap_daily_micro is distinct from new.cap_daily_micro) execute function note_cap_change();

-- What both kinds of offers have, for money, health and workspaces.
create view every_offer as
  select id, seller_account, cap_daily_micro, status <> 'inactive' as is_listed from offer
  union all select id, seller_account, cap_daily_micro, status <> 'delisted' from lent_offer;
