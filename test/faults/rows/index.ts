import type { Row } from '../harness/row.ts'
import { DEATH_ROWS } from './deaths.ts'
import { FIGURE_ROWS } from './figures.ts'
import { POSTING_ROWS } from './posting.ts'
import { REDIS_ROWS } from './redis.ts'
import { REDIS_WIRE_ROWS } from './redis-wire.ts'

/** Every row in the order of its number. */
export const ROWS: readonly Row[] = [
  ...DEATH_ROWS,
  ...FIGURE_ROWS,
  ...POSTING_ROWS,
  ...REDIS_ROWS,
  ...REDIS_WIRE_ROWS,
].sort((left, right) => (left.number < right.number ? -1 : 1))
