-- Calls as they were charged, events that could not be booked as they came, and long jobs.

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
  -- SHA-256 of the event's bytes: tells a repeat of the call from another call.
  payload_hash text not null check (length(payload_hash) = 64),
  started_at timestamptz not null,
  captured_at timestamptz not null,
  posted_at timestamptz not null default now(),
  primary key (rid),
  constraint settlement_within_hold check (charge <= hold_amount),
  constraint settlement_split_exact check (seller_net + fee = charge),
  -- The seller's share is rounded down.
  constraint settlement_split_floored check (seller_net = charge * (10000 - fee_bps) / 10000),
  constraint settlement_seller_known check (charge = 0 or seller_account is not null)
) partition by range (rid);
-- A buyer's calls. Hours of a buyer are summed from the calls themselves, so the index holds what is summed.
create index settlement_by_account on settlement (account, rid)
  include (started_at, model, key_id, provider, endpoint, outcome, served_by, charge, list_cost, input_tokens,
    cache_read_tokens, cache_write_tokens, audio_input_tokens, output_tokens, reasoning_tokens, audio_output_tokens);
-- A seller's sales. Its days are read from their sums, so the index holds no more columns.
create index settlement_by_seller on settlement (seller_account, rid) where seller_account is not null;
-- What a key has used of its caps.
create index settlement_by_key on settlement (key_id, rid) where key_id is not null;
-- Rows are appended in the order of posting: an index of block ranges finds the new ones and costs posting next to nothing.
create index settlement_by_posting on settlement using brin (posted_at) with (pages_per_range = 32, autosummarize = on);
create trigger settlement_kept before update or delete on settlement for each row execute function refuse_change();
create trigger settlement_not_truncated before truncate on settlement
  for each statement execute function refuse_change();

-- Events that contradict a settlement: the first one stands, a person looks at these.
create table usage_conflict (
  rid text collate "C" not null,
  payload_hash text not null,
  event text not null,
  source text not null,
  seen_at timestamptz not null default now(),
  -- Null while it waits for a person.
  resolution_reason text check (length(resolution_reason) <= 500),
  resolved_by text,
  resolved_at timestamptz,
  primary key (rid, payload_hash),
  constraint usage_conflict_resolved_whole check ((resolution_reason is null) = (resolved_at is null)
    and (resolution_reason is null) = (resolved_by is null))
);
-- Those that wait.
create index usage_conflict_waiting on usage_conflict (seen_at) where resolved_at is null;

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
  times_seen integer not null default 1,
  -- Null while it waits for a person.
  resolution text check (resolution in ('retried', 'discarded')),
  resolution_reason text check (length(resolution_reason) <= 500),
  resolved_by text,
  resolved_at timestamptz,
  constraint usage_poison_resolved_whole check ((resolution is null) = (resolved_at is null)
    and (resolution is null) = (resolved_by is null))
);
-- Those that wait.
create index usage_poison_waiting on usage_poison (first_seen_at) where resolution is null;

-- Postings that took from the shortfall and were traced to a fault that has a name.
create table shortfall_note (
  tx text collate "C" primary key,
  reason text not null check (length(reason) between 1 and 500),
  noted_by text not null,
  noted_at timestamptz not null default now()
);

-- Long jobs. Their whole quote leaves the buyer's balance for escrow when they are submitted; their end splits it to the
-- seller, the fee and what the buyer gets back.
create table job (
  -- The request id of the submit, also the id of its transaction and, once it ended, of its settlement.
  rid text collate "C" primary key check (rid ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'),
  account text collate "C" not null references account (id),
  seller_account text collate "C" references account (id),
  escrow_account text collate "C" not null references account (id),
  offer text collate "C",
  key_id text collate "C",
  provider_job text not null,
  quote bigint not null check (quote >= 0),
  -- What of the quote the buyer's balance covered; the rest stands against the shortfall and goes back there first.
  paid bigint not null check (paid between 0 and quote),
  -- The submit as it was captured.
  event text not null,
  payload_hash text not null check (length(payload_hash) = 64),
  deadline_at timestamptz not null,
  posted_at timestamptz not null default now(),
  -- When the provider was asked at the deadline; it is asked once.
  asked_at timestamptz,
  ended_at timestamptz
);
-- Overdue jobs.
create index job_running on job (deadline_at) where ended_at is null;
-- The jobs of an account, and those that run.
create index job_by_account on job (account, rid);
create index job_running_by_account on job (account, rid) where ended_at is null;
-- What jobs have taken of a key's cap.
create index job_by_key on job (key_id, rid) where key_id is not null;
-- What an escrow account has to hold.
create index job_escrowed on job (escrow_account) where ended_at is null;

create function keep_job() returns trigger language plpgsql as $$
begin
  if (new.rid, new.account, new.seller_account, new.escrow_account, new.quote, new.paid, new.payload_hash) is distinct from
     (old.rid, old.account, old.seller_account, old.escrow_account, old.quote, old.paid, old.payload_hash)
     or (old.ended_at is not null and new.ended_at is distinct from old.ended_at) then
    raise exception 'a job keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger job_keeps before update on job for each row execute function keep_job();
create trigger job_kept before delete on job for each row execute function refuse_change();

-- The inbox of ends. One that comes before its submit waits here.
create table job_end (
  -- The request id of the job.
  rid text collate "C" primary key,
  event text not null,
  payload_hash text not null check (length(payload_hash) = 64),
  source text not null,
  received_at timestamptz not null default now(),
  booked_at timestamptz
);
-- Those that are not booked.
create index job_end_parked on job_end (received_at) where booked_at is null;
create trigger job_end_kept before delete on job_end for each row execute function refuse_change();
