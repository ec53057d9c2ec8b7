import type { Row } from '../harness/row.ts'
import { DEATH_ROWS } from './deaths.ts'
import { POSTING_ROWS } from './posting.ts'
import { REDIS_ROWS } from './redis.ts'

/** Every row in the order of its number. */
export const ROWS: readonly Row[] = [...DEATH_ROWS, ...POSTING_ROWS, ...REDIS_ROWS].sort((left, right) =>
  left.number < right.number ? -1 : 1,
)
