-- Figures of the market, by the hour and by the day. Every row is computed from settlements and the health log alone and
-- may be computed again at any time: an hour is replaced whole.

-- The bucket of a value in a histogram with a relative error of one in a hundred (shared/sketch.ts).
create function sketch_bucket(value double precision) returns smallint language sql immutable strict parallel safe as $$
  select case when value > 0
    then greatest(-32767, least(32767, ceil(ln(value) / ln(1.01::double precision / 0.99))))::smallint
    else (-32768)::smallint end
$$;

-- How far settlements and health events have been looked through, by the database's own clock.
create table market_watermark (
  only_one boolean primary key default true check (only_one),
  looked_at timestamptz not null
);

-- What is to be computed again: hours first, then the days they belong to.
create table market_due (
  grain text not null check (grain in ('hour', 'day')),
  starts_at timestamptz not null,
  since timestamptz not null default now(),
  primary key (grain, starts_at)
);

-- Calls of one model in one hour by the provider that answered; those that nobody answered stand under ''. The hour is
-- that of the request id. Sketches hold (bucket int2, count int4) pairs.
create table market_hour (
  starts_at timestamptz not null,
  model text collate "C" not null,
  provider text collate "C" not null,
  calls bigint not null,
  -- Succeeded or left by the buyer; failed or cut by the fault of a provider. A buyer's own mistakes are in neither.
  answered bigint not null,
  unanswered bigint not null,
  -- Calls that were paid for, what was paid, and what the reference price came to.
  trades bigint not null,
  volume_micro bigint not null,
  list_micro bigint not null,
  -- The lowest share of the reference price that anybody paid.
  min_kept_bps smallint,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  output_tokens bigint not null,
  -- Tries at this provider that it answered, and that it failed; milliseconds its offers were backed off, added up, and
  -- how many offers there were.
  attempts_good bigint not null,
  attempts_bad bigint not null,
  down_ms bigint not null,
  offers int not null,
  -- Milliseconds to the first token of streams; output tokens a second of streams.
  ttft_samples bigint not null,
  ttft_sketch bytea not null,
  tps_samples bigint not null,
  tps_sketch bytea not null,
  primary key (starts_at, model, provider)
);
create index market_hour_by_model on market_hour (model, starts_at);

create table market_day (like market_hour including all);

-- Trades and speed of one offer in one hour, for the order book.
create table market_offer_hour (
  starts_at timestamptz not null,
  offer text collate "C" not null,
  model text collate "C" not null,
  trades bigint not null,
  volume_micro bigint not null,
  ttft_samples bigint not null,
  ttft_sketch bytea not null,
  primary key (starts_at, offer)
);
create index market_offer_hour_by_model on market_offer_hour (model, starts_at);

-- Rows are appended in the order of posting: an index of block ranges finds the new ones and costs posting next to nothing.
create index settlement_by_posting on settlement using brin (posted_at) with (pages_per_range = 32, autosummarize = on);

alter table health_log add column stored_at timestamptz not null default now();
create index health_log_by_storing on health_log using brin (stored_at) with (pages_per_range = 32, autosummarize = on);
create index health_log_of_back_offs on health_log (at) where action = 'backed_off';

-- What a published document was made from, where that is cheaper to tell than to build it again.
alter table snapshot_document add column source text;
