import { setTimeout as pause } from 'node:timers/promises'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import type { StepBack } from '#test/faults/harness/step-back.ts'
import { promoteReplica, restoreFolder, restoreToInstant } from '#test/faults/harness/step-back.ts'
import type { World } from '#test/faults/harness/world.ts'
import { until } from '#test/support/run/until.ts'
import { measureDrain, requireNoFailedJobs } from './posting.ts'

const LOST_MS = 13_000
const LOST_QUICKLY_MS = 3_000
const NOTICED_WITHIN_MS = 30_000

/** Restores the ledger under calls that credit pays for. */
async function loseCalls(stage: Stage, stepBack: StepBack): Promise<void> {
  const { world } = stage
  let before = 0
  await stepBack(world, {
    async keep() {
      const load = stage.load({ clients: 4, pauseMs: 5 })
      await load.untilServed(50)
      await load.stop()
      await measureDrain(stage)
    },
    async lose() {
      const load = stage.load({ clients: 8, pauseMs: 5 })
      await load.untilServed(50)
      await pause(stage.isQuick ? LOST_QUICKLY_MS : LOST_MS)
      await load.stop()
      await measureDrain(stage)
      before = await countSettled(world)
    },
  })
  stage.figure('calls that the ledger lost', before - (await countSettled(world)))
  await bookAgain(stage, before)
}

/** Waits until the loss has made the gate rebuild. */
export async function untilNoticed(stage: Stage): Promise<void> {
  const { world } = stage
  const began = performance.now()
  await until('the restore is noticed', NOTICED_WITHIN_MS, async () => {
    const epoch = parseMoneyEpoch(await world.money().get(moneyKeys.epoch))
    return epoch?.restore !== undefined && epoch.phase === 'open'
  })
  stage.figure('noticed and open after (ms)', performance.now() - began)
  await world.untilPaid()
}

/** Requires that every charge that the clients saw is booked again. */
async function bookAgain(stage: Stage, servedBefore: number): Promise<void> {
  const { world } = stage
  await untilNoticed(stage)
  const load = stage.load({ clients: 8, pauseMs: 5 })
  await load.untilServed(50)
  await load.stop()
  await measureDrain(stage)
  await requireNoFailedJobs(stage)
  const booked = await countSettled(world)
  stage.figure('booked in all', booked)
  stage.require(booked >= servedBefore, `${booked} calls are booked, ${servedBefore} were`)
}

async function countSettled({ sql }: World): Promise<number> {
  const { rows } = await sql.query<{ count: string }>('select count(*) from settlement')
  return Number(rows[0]?.count)
}

export const LEDGER_PAST_ROWS: readonly Row[] = [
  {
    number: 'F48',
    title: 'the folder of Postgres is put back as it was before',
    world: {},
    run: (stage) => loseCalls(stage, restoreFolder),
  },
  {
    number: 'F49',
    title: 'Postgres is restored to an instant from a backup and its archived log',
    world: { keepsArchive: true },
    run: (stage) => loseCalls(stage, restoreToInstant),
  },
  {
    number: 'F50',
    title: 'a replica of Postgres without the last moments is promoted',
    world: { keepsArchive: true },
    run: (stage) => loseCalls(stage, promoteReplica),
  },
]
