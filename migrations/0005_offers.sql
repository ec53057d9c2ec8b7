-- Provider keys, sealed, and what is called with them: the capacity that sellers offer, and buyers' own providers.

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
  -- A key that its seller has forgotten can be reused no more. Offers that stand on it keep it.
  forgotten_at timestamptz,
  constraint credential_once unique (tenant, purpose, fingerprint),
  -- The columns say the same as the text that is bound into the ciphertext.
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
  -- A protocol by its name. Which there are, the code says alone: another one needs no migration.
  api_format text not null check (api_format ~ '^[a-z][a-z0-9-]{0,39}$'),
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
-- One key sells a model at an address once, whoever lists it.
create unique index offer_one_active_per_credential on offer (fingerprint, base_url, model) where status = 'active';
-- A seller lists its offers.
create index offer_by_seller on offer (seller_account, id);
-- The snapshot and the order book of a model.
create index offer_on_sale on offer (model, id) where status = 'active';
-- How many offers of a model at a provider are on sale.
create index offer_on_sale_by_place on offer (model, provider) where status = 'active';
-- Which offers stand on a saved key.
create index offer_by_credential on offer (credential_id, status);

create function refuse_offer_of_closed() returns trigger language plpgsql as $$
declare
  home text;
begin
  select w.id into home from workspace w where w.seller_account = new.seller_account;
  if found then perform refuse_closed_workspace(home); end if;
  return new;
end $$;
create trigger offer_of_open_workspace before insert on offer for each row
  when (new.status <> 'inactive') execute function refuse_offer_of_closed();
create trigger offer_back_in_open_workspace before update of status on offer for each row
  when (old.status = 'inactive' and new.status <> 'inactive') execute function refuse_offer_of_closed();

-- The caps that an offer had: what was taken under a higher one earlier today is no breach of a lower one.
create table offer_cap_change (
  id bigint generated always as identity primary key,
  offer text collate "C" not null,
  -- What it was until then; null for none.
  cap_daily_micro bigint,
  at timestamptz not null default now()
);
-- The caps of an offer on a day.
create index offer_cap_change_by_offer on offer_cap_change (offer, at);

create function note_cap_change() returns trigger language plpgsql as $$
begin
  insert into offer_cap_change (offer, cap_daily_micro) values (old.id, old.cap_daily_micro);
  return null;
end $$;
create trigger offer_cap_noted after update of cap_daily_micro on offer for each row
  when (old.cap_daily_micro is distinct from new.cap_daily_micro) execute function note_cap_change();

-- When a saved key is next tried at its address: one question covers every offer that stands on it.
create table offer_probe (
  credential_id text collate "C" not null references credential (id) on delete cascade,
  base_url text not null,
  next_at timestamptz not null,
  -- Failures in a row of the probe itself.
  failures int not null default 0 check (failures >= 0),
  last_at timestamptz,
  primary key (credential_id, base_url)
);
-- Those that are due.
create index offer_probe_due on offer_probe (next_at);

-- Work of a seller that goes on after its answer. Its rows are the truth: a queue only wakes who does it.
create table seller_operation (
  id text collate "C" primary key check (id ~ '^opn_[0-9A-Za-z_-]{1,64}$'),
  seller_account text collate "C" not null references account (id),
  kind text not null check (kind in ('bulk_cancel')),
  status text not null check (status in ('pending', 'running', 'succeeded', 'failed')),
  total int not null check (total >= 0),
  processed int not null default 0,
  failed_count int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint seller_operation_counts check (0 <= failed_count and failed_count <= processed and processed <= total)
);
-- What is not over.
create index seller_operation_open on seller_operation (id) where status in ('pending', 'running');

create table seller_operation_item (
  operation text collate "C" not null references seller_operation (id) on delete cascade,
  offer text collate "C" not null references offer (id),
  done_at timestamptz,
  primary key (operation, offer)
);
-- An offer waits in one operation at a time: a second one begun meanwhile has nothing to do with it.
create unique index seller_operation_item_once on seller_operation_item (offer) where done_at is null;

-- What a buyer wants of every call.
create table buyer_preference (
  account text collate "C" primary key references account (id),
  allows_untrusted boolean not null,
  providers_blocked text[] not null,
  min_discount_pct smallint check (min_discount_pct between 0 and 100),
  updated_at timestamptz not null
);

-- The provider keys of its own that a buyer calls with.
create table own_provider (
  id text collate "C" primary key check (id ~ '^prv_[0-9A-Za-z_-]{1,64}$'),
  account text collate "C" not null references account (id),
  provider text collate "C" not null references provider (id),
  credential_id text collate "C" not null references credential (id),
  -- Null serves every model, after the marketplace; a row with a model is tried before it.
  model text collate "C" references model (id),
  provider_model text check (length(provider_model) between 1 and 200),
  base_url text not null,
  -- A protocol by its name. Which there are, the code says alone: another one needs no migration.
  api_format text not null check (api_format ~ '^[a-z][a-z0-9-]{0,39}$'),
  priority integer not null check (priority between 0 and 1000),
  label text check (length(label) <= 200),
  created_at timestamptz not null
);
-- A buyer's own providers in the order they are tried.
create index own_provider_by_account on own_provider (account, priority, id);
-- Whether another row still needs a key.
create index own_provider_by_credential on own_provider (credential_id);

-- Changes in the health of offers, as the data plane, probes, sellers and operators told them. Losing some is
-- acceptable. A seller whose usage figures cannot be true is flagged for a person, and its offer goes on selling.
create table health_log (
  id text collate "C" primary key check (id ~ '^hlt_[0-9A-Za-z_-]{1,64}$'),
  at timestamptz not null,
  node text not null,
  offer text collate "C" not null,
  -- Null for an offer that was not known when the event came.
  seller_account text collate "C",
  model text not null,
  rid text,
  error_class text,
  status_code int,
  detail text not null check (length(detail) <= 300),
  action text not null check (action in
    ('counted', 'backed_off', 'recovered', 'flagged', 'reset', 'credential_rotated', 'delisted', 'restored')),
  backed_off_until timestamptz,
  stored_at timestamptz not null default now()
);
-- The log of an offer, and of a seller.
create index health_log_by_offer on health_log (offer, at, id);
create index health_log_by_seller on health_log (seller_account, at, id);
-- Old lines are removed.
create index health_log_by_age on health_log (at);
-- Rows are appended in the order of storing: an index of block ranges finds the new ones and costs next to nothing.
create index health_log_by_storing on health_log using brin (stored_at) with (pages_per_range = 32, autosummarize = on);
-- How long offers were backed off in an hour of the market.
create index health_log_of_back_offs on health_log (at) where action = 'backed_off';
-- What took offers out of the rotation and what brought them back, for incidents.
create index health_log_by_change on health_log (at)
  where action in ('backed_off', 'recovered', 'reset', 'credential_rotated', 'delisted');
