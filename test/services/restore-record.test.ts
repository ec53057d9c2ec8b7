import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { transact } from '#control-plane/db/database.ts'
import { markRestored } from '#control-plane/db/money-epoch.ts'
import { rebuildGate } from '#control-plane/services/gate/gate-rebuild.ts'
import { systemClock } from '#shared/clock.ts'
import type { GateWorld } from '#test/support/books/gate.ts'
import { log, startGateWorld } from '#test/support/books/gate.ts'
import { until } from '#test/support/run/until.ts'

const WAIT_MS = 10_000

let world: GateWorld
beforeEach(async () => {
  world = await startGateWorld()
})
afterEach(() => world.stop())

describe('the record of a restored ledger', () => {
  it('is joined although the process that opened its gate died at once', async () => {
    await world.stopRebuilder()
    await world.ledger.markRestored(Date.now())
    await rebuildGate(
      { ledger: world.ledger, keeper: world.keeper, clock: systemClock, log },
      await world.keeper.view(),
    )
    expect(await world.ledger.readEpoch()).toMatchObject({ isRestoreNew: false, joinedAt: undefined })
    world.startRebuilder()
    await until('the nodes have reported their captures', WAIT_MS, async () => {
      const { joinedAt } = await world.ledger.readEpoch()
      return joinedAt !== undefined
    })
  })

  it('causes a rebuild where an epoch was raised while the record was written', async () => {
    await world.stopRebuilder()
    await transact(world.db, async (trx) => {
      await sql`select 1`.execute(trx)
      await world.ledger.raiseEpoch(0)
      await markRestored(trx, Date.now())
    })
    expect(await world.ledger.readEpoch()).toMatchObject({ isRestoreNew: true, heldAt: expect.any(Number) })
  })
})
