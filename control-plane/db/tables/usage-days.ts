import { bigint, boolean, date, id, made, nullable, text, timestamp, withDefault } from './column.ts'

/** Usage of a day's or an hour's calls in units other than tokens. */
const MEDIA = {
  characters: withDefault(bigint()),
  images: withDefault(bigint()),
  images_2k: withDefault(bigint()),
  images_4k: withDefault(bigint()),
  pixels: withDefault(bigint()),
  milliseconds: withDefault(bigint()),
  milliseconds_1080p: withDefault(bigint()),
  milliseconds_4k: withDefault(bigint()),
  calls: withDefault(bigint()),
  image_input_tokens: withDefault(bigint()),
  image_output_tokens: withDefault(bigint()),
}

/** Sums of a buyer's calls. */
const SUMS = {
  requests: bigint(),
  charge: bigint(),
  list_cost: bigint(),
  input_tokens: bigint(),
  cache_read_tokens: bigint(),
  cache_write_tokens: bigint(),
  audio_input_tokens: bigint(),
  output_tokens: bigint(),
  reasoning_tokens: bigint(),
  audio_output_tokens: bigint(),
}

/** Tables of `0008_usage_days.sql` and `0135_usage_hours.sql`. Amounts are micro-USD. */
export const USAGE_DAY_TABLES = {
  buyer_day: {
    account: id('acc'),
    day: date(),
    started_on: date(),
    model: text(),
    key_id: nullable(text()),
    provider: nullable(text()),
    endpoint: text(),
    outcome: text(),
    served_by: nullable(text()),
    ...SUMS,
    ...MEDIA,
  },
  buyer_hour: {
    account: id('acc'),
    day: date(),
    hour: timestamp(),
    provider: nullable(text()),
    endpoint: text(),
    outcome: text(),
    served_by: nullable(text()),
    ...SUMS,
    ...MEDIA,
  },
  seller_day: {
    account: id('acc'),
    day: date(),
    started_on: date(),
    model: text(),
    requests: bigint(),
    earned: bigint(),
    input_tokens: bigint(),
    output_tokens: bigint(),
    last_rid: text(),
    ...MEDIA,
    charge: nullable(bigint()),
  },
  usage_summed: { only_one: withDefault(boolean()), before: nullable(date()), compared_next: nullable(date()) },
  usage_late: { id: made(bigint()), account: id('acc'), day: date() },
}
