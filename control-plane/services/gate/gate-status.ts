import type { Database } from '#control-plane/db/database.ts'
import { listMembers, readMoneyEpoch } from '#control-plane/db/money-epoch.ts'
import type { GateKeeper, GateView } from '#control-plane/ports/gate-keeper/gate-keeper.ts'
import type { Timers } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'

const LOOK_EVERY_MS = 50
const LOOK_FOR_MS = 3 * SECOND

/** The state of the spending gate in Redis and on record. `inRedis` is null while Redis is out of reach. */
export type GateStatus = {
  readonly isOpen: boolean
  readonly epochOnRecord: number
  readonly membersOnRecord: readonly string[]
  readonly inRedis: {
    readonly epoch: number | null
    readonly phase: string | null
    readonly hasScripts: boolean
    readonly doubtedEpoch: number | null
    /** Node id → Unix milliseconds of its last announcement. */
    readonly nodes: Readonly<Record<string, number>>
  } | null
}

/** Reads the state of the gate. A connection that is not up yet gets a few seconds to connect. */
export async function readGateStatus(parts: { db: Database; keeper: GateKeeper; clock: Timers }): Promise<GateStatus> {
  const [record, members, view] = await Promise.all([
    readMoneyEpoch(parts.db),
    listMembers(parts.db),
    lookAtGate(parts.keeper, parts.clock),
  ])
  return {
    isOpen: view?.epoch?.phase === 'open' && view.hasScripts && view.doubted !== view.epoch.epoch,
    epochOnRecord: record.epoch,
    membersOnRecord: members,
    inRedis:
      view === undefined
        ? null
        : {
            epoch: view.epoch?.epoch ?? null,
            phase: view.epoch?.phase ?? null,
            hasScripts: view.hasScripts,
            doubtedEpoch: view.doubted ?? null,
            nodes: Object.fromEntries(view.nodes),
          },
  }
}

async function lookAtGate(keeper: GateKeeper, clock: Timers): Promise<GateView | undefined> {
  for (let waited = 0; waited < LOOK_FOR_MS; waited += LOOK_EVERY_MS) {
    try {
      return await keeper.view()
    } catch {
      await clock.sleep(LOOK_EVERY_MS)
    }
  }
  return undefined
}
