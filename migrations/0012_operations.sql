-- What keeps the marketplace running: answers to replay, who did what, what was published, what operators turn, and what
-- the checks of money found.

-- Answers of operations that were called with an idempotency key.
create table idempotency (
  tenant text not null,
  operation text not null,
  key text not null check (length(key) between 1 and 255),
  -- HMAC of the request.
  request_hash text not null,
  -- Null while the first run goes on.
  answer jsonb,
  claimed_at timestamptz not null,
  lease_until timestamptz not null,
  expires_at timestamptz not null,
  primary key (tenant, operation, key)
);
-- Those past their end are removed.
create index idempotency_by_end on idempotency (expires_at);

-- Who did what to what, and how it looked before and after.
create table audit_log (
  id text collate "C" primary key,
  at timestamptz not null,
  actor_kind text not null,
  actor text not null,
  key_id text,
  operation text not null,
  subject text,
  before jsonb,
  after jsonb,
  -- The organisation whose log it stands in.
  organization text collate "C"
);
-- The log of a user, of a subject and of an organisation.
create index audit_log_by_actor on audit_log (actor, id);
create index audit_log_by_subject on audit_log (subject, id) where subject is not null;
create index audit_log_by_organization on audit_log (organization, id) where organization is not null;
create trigger audit_log_stays before update or delete on audit_log for each row execute function refuse_change();

-- Versions of the snapshot come from one sequence, so they rise over every restart and over every loss of the store.
create sequence snapshot_version;

-- What of the snapshot has been published.
create table snapshot_document (
  name text collate "C" primary key,
  version bigint not null,
  -- SHA-256 of the body as published.
  body_hash text not null,
  -- What it was made from, where that is cheaper to tell than to build the document again.
  source text,
  published_at timestamptz not null
);

-- Which process does a periodic job now. A dead owner's lease runs out by the clock of this database.
create table worker_lease (
  name text primary key,
  owner text not null,
  expires_at timestamptz not null
);

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

-- One row a run of the ledger's checker.
create table invariant_run (
  id text collate "C" primary key,
  started_at timestamptz not null,
  took_ms integer not null check (took_ms >= 0),
  findings jsonb not null,
  breaches text[] not null,
  -- Why there are no findings: one of the records could not be read.
  failure text
);
create trigger invariant_run_kept before update on invariant_run for each row execute function refuse_change();

-- What a sweep of the gate and the ledger found to differ; one row as long as it lasts.
create table money_finding (
  kind text not null,
  subject text collate "C" not null,
  detail text not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  times_seen integer not null default 1,
  -- Null as long as the latest comparison shows it.
  gone_at timestamptz,
  primary key (kind, subject)
);

-- Payouts wait while a row here is not cleared. Only a person clears one.
create table payout_hold (
  id text collate "C" primary key,
  reason text not null,
  set_at timestamptz not null default now(),
  cleared_at timestamptz,
  cleared_by text,
  clear_reason text check (length(clear_reason) between 1 and 500),
  constraint payout_hold_cleared_whole check ((cleared_at is null) = (cleared_by is null)
    and (cleared_at is null) = (clear_reason is null))
);
-- One hold a reason at a time.
create unique index payout_hold_in_force on payout_hold (reason) where cleared_at is null;
create trigger payout_hold_kept before delete on payout_hold for each row execute function refuse_change();
