import type { Row } from '../harness/row.ts'
import { REDIS_ROWS } from './redis.ts'

/** Every row in the order of its number. */
export const ROWS: readonly Row[] = [...REDIS_ROWS].sort((left, right) => (left.number < right.number ? -1 : 1))
