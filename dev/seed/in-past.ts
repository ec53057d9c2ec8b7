import type { Ctx } from '#control-plane/operation/ctx.ts'
import { DAY } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { HISTORY_DAYS } from './history.ts'

/** The age of seeded keys and of their credit. Past calls begin later. */
const BEFORE_HISTORY_MS = (HISTORY_DAYS + 1) * DAY

/** The market before its past calls, for what these calls need. */
export function inPast<Present extends Pick<Ctx, 'clock' | 'ids'>>(present: Present): Present {
  const now = () => present.clock.now() - BEFORE_HISTORY_MS
  return { ...present, clock: { ...present.clock, now }, ids: createIds({ now }) }
}
