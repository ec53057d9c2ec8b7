-- One row for every admitted call: what was used, what it cost, who served it. The primary key is what makes posting
-- happen once. Rows are written once; what later concerns a call gets a table of its own.

create table settlement (
  rid text collate "C" not null check (rid ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'),
  account text collate "C" not null,
  key_id text collate "C",
  seller_account text collate "C",
  offer text collate "C",
  provider text,
  model text not null,
  requested_model text not null,
  wire text not null,
  endpoint text not null,
  rail text not null,
  served_by text,
  node text not null,
  is_streamed boolean not null,
  outcome text not null check (outcome in ('succeeded', 'failed', 'cut', 'cancelled')),
  error_code text,
  finish_reason text,
  hold_amount bigint not null check (hold_amount >= 0),
  charge bigint not null check (charge >= 0),
  list_cost bigint not null check (list_cost >= 0),
  seller_net bigint not null check (seller_net >= 0),
  fee bigint not null check (fee >= 0),
  fee_bps smallint not null check (fee_bps between 0 and 10000),
  kept_bps smallint not null check (kept_bps between 0 and 10000),
  price_version text not null,
  usage_source text not null check (usage_source in ('reported', 'estimated')),
  input_tokens bigint not null check (input_tokens >= 0),
  cache_read_tokens bigint not null check (cache_read_tokens >= 0),
  cache_write_tokens bigint not null check (cache_write_tokens >= 0),
  output_tokens bigint not null check (output_tokens >= 0),
  reasoning_tokens bigint not null check (reasoning_tokens >= 0),
  audio_input_tokens bigint not null check (audio_input_tokens >= 0),
  audio_output_tokens bigint not null check (audio_output_tokens >= 0),
  characters bigint not null check (characters >= 0),
  images bigint not null check (images >= 0),
  pixels bigint not null check (pixels >= 0),
  milliseconds bigint not null check (milliseconds >= 0),
  calls bigint not null check (calls >= 0),
  ttft_ms integer,
  stream_ms integer,
  duration_ms integer not null check (duration_ms >= 0),
  overhead_ms real not null,
  attempts jsonb not null,
  explanation jsonb,
  anomalies text[] not null,
  payload_hash text not null check (length(payload_hash) = 64),
  started_at timestamptz not null,
  captured_at timestamptz not null,
  posted_at timestamptz not null default now(),
  primary key (rid),
  constraint settlement_within_hold check (charge <= hold_amount),
  constraint settlement_split_exact check (seller_net + fee = charge),
  constraint settlement_split_floored check (seller_net = charge * (10000 - fee_bps) / 10000),
  constraint settlement_seller_known check (charge = 0 or seller_account is not null)
) partition by range (rid);

create index settlement_by_account on settlement (account, rid);
create index settlement_by_seller on settlement (seller_account, rid) where seller_account is not null;
create index settlement_by_key on settlement (key_id, rid) where key_id is not null;

create trigger settlement_kept before update or delete on settlement for each row execute function refuse_change();

-- Events that contradict a settlement: the first one stands, a person looks at these.
create table usage_conflict (
  rid text collate "C" not null,
  payload_hash text not null,
  event text not null,
  source text not null,
  seen_at timestamptz not null default now(),
  primary key (rid, payload_hash)
);

-- Events that cannot be posted as they are; their money stays reserved until a person decides.
create table usage_poison (
  payload_hash text primary key,
  rid text,
  reason text not null,
  detail text not null,
  event text not null,
  source text not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  times_seen integer not null default 1
);

-- A statement trigger of a partitioned table does not fire for a statement that names the partition, so each partition
-- has the same triggers of its own.
create function guard_partition(parent text, part text) returns void language plpgsql as $$
begin
  execute format('create trigger %I before truncate on %I for each statement execute function refuse_change()',
    part || '_not_truncated', part);
  if parent = 'ledger_entry' then
    execute format('create trigger %I after insert on %I referencing new table as entries
      for each statement execute function check_entries()', part || '_checked', part);
  end if;
end $$;

-- Makes the partitions of the UTC months from the one before `from_at` to `months_ahead` after it, where missing, and
-- answers the names of the new ones. Rows outside all months go to the default partitions, so nothing is ever refused.
create function make_month_partitions(from_at timestamptz, months_ahead int) returns setof text
language plpgsql as $$
declare
  parent text;
  part text;
  month timestamp;
begin
  foreach parent in array array['ledger_tx', 'ledger_entry', 'settlement'] loop
    for ahead in -1..months_ahead loop
      month := date_trunc('month', from_at at time zone 'UTC') + make_interval(months => ahead);
      part := parent || '_' || to_char(month, 'YYYY_MM');
      continue when to_regclass(part) is not null;
      -- Made alone and attached: that takes a weaker lock on the parent than creating it in place.
      execute format('create table %I (like %I including defaults including constraints)', part, parent);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent, part, ulid_floor(month at time zone 'UTC'), ulid_floor((month + interval '1 month') at time zone 'UTC'));
      perform guard_partition(parent, part);
      return next part;
    end loop;
  end loop;
end $$;

create trigger ledger_entry_checked after insert on ledger_entry
  referencing new table as entries for each statement execute function check_entries();
create trigger ledger_tx_not_truncated before truncate on ledger_tx
  for each statement execute function refuse_change();
create trigger ledger_entry_not_truncated before truncate on ledger_entry
  for each statement execute function refuse_change();
create trigger settlement_not_truncated before truncate on settlement
  for each statement execute function refuse_change();

create table ledger_tx_default partition of ledger_tx default;
create table ledger_entry_default partition of ledger_entry default;
create table settlement_default partition of settlement default;
select guard_partition('ledger_tx', 'ledger_tx_default'),
  guard_partition('ledger_entry', 'ledger_entry_default'),
  guard_partition('settlement', 'settlement_default');
select make_month_partitions(now(), 3);
