-- Medians beside their sketches, so that a series need not read sketches; totals over models and providers stand under '*'.
alter table market_hour add column ttft_p50_ms double precision, add column tps_p50 double precision;
alter table market_day add column ttft_p50_ms double precision, add column tps_p50 double precision;

-- The row of each model as it is shown: figures of the 24 hour buckets from `window_from` on. Computed from hours.
create table market_row (
  model text collate "C" primary key,
  window_from timestamptz not null,
  body jsonb not null
);
