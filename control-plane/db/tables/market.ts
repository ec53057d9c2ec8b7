import {
  bigint,
  boolean,
  bytes,
  double,
  doubles,
  id,
  integer,
  json,
  nullable,
  oneOf,
  smallint,
  text,
  texts,
  timestamp,
  withDefault,
} from './column.ts'

export const INCIDENT_STATES = ['investigating', 'identified', 'monitoring', 'resolved'] as const
export type IncidentState = (typeof INCIDENT_STATES)[number]

/** Figures of a model at a provider in an hour or a day. `shared/sketch.ts` reads the sketches. */
const BUCKET = {
  starts_at: timestamp(),
  model: text(),
  provider: text(),
  calls: bigint(),
  answered: bigint(),
  unanswered: bigint(),
  trades: bigint(),
  volume_micro: bigint(),
  list_micro: bigint(),
  min_kept_bps: nullable(smallint()),
  input_tokens: bigint(),
  cache_read_tokens: bigint(),
  output_tokens: bigint(),
  attempts_good: bigint(),
  attempts_bad: bigint(),
  down_ms: bigint(),
  offers: integer(),
  ttft_samples: bigint(),
  ttft_sketch: bytes(),
  tps_samples: bigint(),
  tps_sketch: bytes(),
  ttft_p50_ms: nullable(double()),
  tps_p50: nullable(double()),
  /** Images, pixels, characters and milliseconds. */
  media: nullable(doubles()),
}

/** Tables of `0010_market.sql`. Amounts are micro-USD. */
export const MARKET_TABLES = {
  market_watermark: {
    only_one: withDefault(boolean()),
    looked_at: timestamp(),
    incidents_looked_at: nullable(timestamp()),
  },
  market_due: { grain: oneOf(['hour', 'day']), starts_at: timestamp(), since: withDefault(timestamp()) },
  market_hour: BUCKET,
  market_day: BUCKET,
  market_offer_hour: {
    starts_at: timestamp(),
    offer: text(),
    model: text(),
    trades: bigint(),
    volume_micro: bigint(),
    ttft_samples: bigint(),
    ttft_sketch: bytes(),
    calls: nullable(bigint()),
    net_micro: nullable(bigint()),
  },
  market_row: { model: text(), window_from: timestamp(), body: json() },
  market_incident: {
    id: text(),
    model: text(),
    provider: text(),
    started_at: timestamp(),
    ends_at: timestamp(),
    offers: integer(),
    back_offs: integer(),
    cause: nullable(text()),
  },
  declared_incident: {
    id: id('inc'),
    title: text(),
    models: texts(),
    providers: texts(),
    state: oneOf(INCIDENT_STATES),
    started_at: timestamp(),
    ended_at: nullable(timestamp()),
  },
  declared_incident_note: {
    incident: id('inc'),
    number: integer(),
    at: timestamp(),
    state: oneOf(INCIDENT_STATES),
    note: text(),
  },
}
