import type { Database } from '#control-plane/db/database.ts'
import { readPostedHorizon, sumKeyUse } from '#control-plane/db/money-epoch.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { CountedKey } from '#control-plane/ports/gate/gate.ts'
import { utcDay, utcMonth } from '#shared/clock.ts'
import { microUsd } from '#shared/money.ts'

type KeyUseCtx = Pick<Ctx, 'gate' | 'clock'> & { readonly db: Database }

/** How far ahead the seed's instant lies: its mark has to be in the gate before anything is posted after it. */
const AHEAD_MS = 50
const LOOK_MS = 10
/** A transaction that has written lives no longer than its statements may. */
const MAX_LOOKS = 1_000

/**
 * Lets a key's counter begin from the ledger's figures, so that a cap which the key is given counts what the key has used
 * before. To be called whenever a key gets its first cap; again changes nothing, and a rebuild of the gate does the same
 * for every key that has one. Calls go on meanwhile. Throws AppError `service_unavailable` while the gate is away.
 */
export async function seedKeyUse({ db, gate, clock }: KeyUseCtx, key: CountedKey): Promise<void> {
  const mark = await gate.markKeyUse(key, (await readPostedHorizon(db)) + AHEAD_MS)
  if (mark === undefined) return
  const { postedBefore, now } = mark
  for (let looks = 0; (await readPostedHorizon(db)) < postedBefore && looks < MAX_LOOKS; looks++) {
    await clock.sleep(LOOK_MS)
  }
  const period = { day: utcDay(now), month: utcMonth(now), postedBefore }
  const { day, month } = await sumKeyUse(db, key.keyId, period)
  await gate.seedKeyUse(key, { ...period, dayMicro: microUsd(day), monthMicro: microUsd(month) })
}
