import type { Row } from '#test/faults/harness/row.ts'
import { ANY_DEATH_ROWS } from './any-death.ts'
import { BLOCKED_START_ROWS } from './blocked-starts.ts'
import { CHAIN_PAST_ROWS } from './chain-past.ts'
import { CLOCK_ROWS } from './clocks.ts'
import { CONTROL_ROWS } from './control.ts'
import { DEATH_ROWS } from './deaths.ts'
import { FIGURE_ROWS } from './figures.ts'
import { HOSTILE_ROWS } from './hostile.ts'
import { JOB_ROWS } from './jobs.ts'
import { JOURNAL_ROWS } from './journal.ts'
import { LEDGER_PAST_ROWS } from './ledger-past.ts'
import { PAYMENT_ROWS } from './payments.ts'
import { POSTING_ROWS } from './posting.ts'
import { REDIS_ROWS } from './redis.ts'
import { REDIS_WIRE_ROWS } from './redis-wire.ts'
import { RELAY_ROWS } from './relays.ts'
import { TREASURY_ROWS } from './treasury.ts'
import { UPSTREAM_ROWS } from './upstream.ts'

/** Every row in the order of its number. */
export const ROWS: readonly Row[] = [
  ...ANY_DEATH_ROWS,
  ...BLOCKED_START_ROWS,
  ...CHAIN_PAST_ROWS,
  ...CLOCK_ROWS,
  ...CONTROL_ROWS,
  ...DEATH_ROWS,
  ...FIGURE_ROWS,
  ...HOSTILE_ROWS,
  ...JOB_ROWS,
  ...JOURNAL_ROWS,
  ...LEDGER_PAST_ROWS,
  ...PAYMENT_ROWS,
  ...POSTING_ROWS,
  ...REDIS_ROWS,
  ...REDIS_WIRE_ROWS,
  ...RELAY_ROWS,
  ...TREASURY_ROWS,
  ...UPSTREAM_ROWS,
].sort((left, right) => (left.number < right.number ? -1 : 1))
