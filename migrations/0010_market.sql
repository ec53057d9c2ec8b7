-- Figures of the market, by the hour and by the day, and its incidents. Figures are computed from settlements and the
-- health log alone and may be computed again at any time: an hour is replaced whole.

-- The bucket of a value in a histogram with a relative error of one in a hundred (shared/sketch.ts).
create function sketch_bucket(value double precision) returns smallint language sql immutable strict parallel safe as $$
  select case when value > 0
    then greatest(-32767, least(32767, ceil(ln(value) / ln(1.01::double precision / 0.99))))::smallint
    else (-32768)::smallint end
$$;

-- How far settlements and health events have been looked through, by the database's own clock.
create table market_watermark (
  only_one boolean primary key default true check (only_one),
  -- For hours.
  looked_at timestamptz not null,
  -- For incidents; null before the first look.
  incidents_looked_at timestamptz
);

-- What is to be computed again: hours first, then the days they belong to.
create table market_due (
  grain text not null check (grain in ('hour', 'day')),
  starts_at timestamptz not null,
  since timestamptz not null default now(),
  primary key (grain, starts_at)
);

-- Calls of one model in one hour by the provider that answered; those that nobody answered stand under '', totals over
-- models and providers under '*'. The hour is that of the request id. Sketches hold (bucket int2, count int4) pairs.
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
  -- Medians beside their sketches, so that a series need not read sketches.
  ttft_p50_ms double precision,
  tps_p50 double precision,
  primary key (starts_at, model, provider)
);
-- The series of a model.
create index market_hour_by_model on market_hour (model, starts_at);

-- The same by the day, added up from hours.
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
-- The book of a model.
create index market_offer_hour_by_model on market_offer_hour (model, starts_at);

-- The row of each model as it is shown: figures of the 24 hour buckets from `window_from` on. Computed from hours.
create table market_row (
  model text collate "C" primary key,
  window_from timestamptz not null,
  body jsonb not null
);

-- Times during which offers of a model at a provider were out of the rotation. Every row is computed from the health log
-- and the offers alone and may be computed again at any time: a place is replaced from an instant on.
create table market_incident (
  -- The beginning in Unix milliseconds and a hash of the place: the order of the list.
  id text collate "C" primary key,
  model text collate "C" not null,
  provider text collate "C" not null,
  started_at timestamptz not null,
  -- When the last offer was back, or will be tried again.
  ends_at timestamptz not null check (ends_at > started_at),
  -- Offers that were out at some time of it, and how often one of them was taken out.
  offers int not null check (offers > 0),
  back_offs int not null check (back_offs >= offers),
  -- The error that most of them had.
  cause text
);
-- The incidents of a place, which are replaced from an instant on.
create index market_incident_by_place on market_incident (model, provider, started_at);
-- Those that are not over, or ended lately.
create index market_incident_by_end on market_incident (ends_at);

-- What operators tell everybody about an incident, beside those that real traffic shows. An end is a state and an instant.
create table declared_incident (
  id text collate "C" primary key,
  title text not null check (length(title) between 1 and 200),
  -- Canonical models and providers it touches; none of them means the whole market.
  models text[] not null,
  providers text[] not null,
  state text not null check (state in ('investigating', 'identified', 'monitoring', 'resolved')),
  started_at timestamptz not null,
  ended_at timestamptz check (ended_at >= started_at),
  check ((state = 'resolved') = (ended_at is not null))
);

create table declared_incident_note (
  incident text collate "C" not null references declared_incident,
  number int not null check (number between 1 and 20),
  at timestamptz not null,
  state text not null check (state in ('investigating', 'identified', 'monitoring', 'resolved')),
  note text not null check (length(note) between 1 and 2000),
  primary key (incident, number)
);
