import { execFile } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import { archiveOf, postgresData } from '#test/faults/harness/servers.ts'
import type { World } from '#test/faults/harness/world.ts'
import { until } from '#test/support/until.ts'
import { measureDrain, requireNoFailedJobs } from './posting.ts'

const run = promisify(execFile)

const LOST_MS = 13_000
const LOST_QUICKLY_MS = 3_000
const NOTICED_WITHIN_MS = 30_000
const ARCHIVED_WITHIN_MS = 30_000
const PROMOTED_WITHIN_MS = 60_000

/** Milliseconds of commits before the end that are lost. Older ones are kept. */
type Loss = { readonly lostMs: number }

/** Serves calls that are kept, then for a while calls that will be lost, and waits until all are booked. */
async function serveLost(stage: Stage, { lostMs }: Loss): Promise<void> {
  const load = stage.load({ clients: 8, pauseMs: 5 })
  await load.untilServed(50)
  await pause(lostMs)
  await load.stop()
  await measureDrain(stage)
}

/** Waits until the loss has made the gate rebuild. Then every charge that the clients saw must be booked again. */
async function bookAgain(stage: Stage, servedBefore: number): Promise<void> {
  const { world } = stage
  const began = performance.now()
  await until('the step back is noticed', NOTICED_WITHIN_MS, async () => {
    const epoch = parseMoneyEpoch(await world.money().get(moneyKeys.epoch))
    return epoch?.restore !== undefined && epoch.phase === 'open'
  })
  stage.figure('noticed and open after (ms)', performance.now() - began)
  await world.untilPaid()
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

/** Writes a file that belongs to the owner of the folder, the server. */
function writeInto(folder: string, name: string, text: string): void {
  const { uid, gid } = statSync(folder)
  writeFileSync(join(folder, name), text)
  chownSync(join(folder, name), uid, gid)
}

const copyTree = (from: string, to: string) => run('cp', ['-a', from, to])

/** Copies the folder of a stopped server and puts it back later: the same cluster on the same timeline. */
async function restoreFolder(stage: Stage, loss: Loss): Promise<void> {
  const { world } = stage
  const data = postgresData(world.folder)
  const copy = join(world.folder, 'backup')
  const warm = stage.load({ clients: 4, pauseMs: 5 })
  await warm.untilServed(50)
  await warm.stop()
  await measureDrain(stage)
  await world.postgres.stop()
  await copyTree(data, copy)
  await world.postgres.start()
  await serveLost(stage, loss)
  const before = await countSettled(world)
  await world.postgres.kill()
  rmSync(data, { recursive: true })
  await copyTree(copy, data)
  await world.postgres.start()
  stage.figure('calls that the ledger lost', before - (await countSettled(world)))
  await bookAgain(stage, before)
}

/**
 * Copies the data of a running server as `pg_basebackup` does (PostgreSQL manual, "Making a Base Backup Using the Low
 * Level API").
 */
async function backUp({ folder, sql }: World, to: string): Promise<void> {
  const session = await sql.connect()
  try {
    await session.query("select pg_backup_start('rows', true)")
    // Files that vanish while they are copied do not matter, because the log has their contents.
    await copyTree(postgresData(folder), to).catch(() => undefined)
    const { rows } = await session.query<{ labelfile: string }>('select labelfile from pg_backup_stop()')
    writeInto(to, 'backup_label', rows[0]?.labelfile ?? '')
  } finally {
    session.release()
  }
  for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(to, name), { force: true })
  const log = join(to, 'pg_wal')
  for (const name of readdirSync(log)) if (/^[0-9A-F]{24}/.test(name)) rmSync(join(log, name))
}

/** Restores a base backup and the archived log up to an instant. A new timeline begins there. */
async function restoreToInstant(stage: Stage, loss: Loss): Promise<void> {
  const { world } = stage
  const data = postgresData(world.folder)
  const copy = join(world.folder, 'backup')
  await backUp(world, copy)
  const warm = stage.load({ clients: 4, pauseMs: 5 })
  await warm.untilServed(50)
  await warm.stop()
  await measureDrain(stage)
  const { rows } = await world.sql.query<{ at: string }>('select clock_timestamp()::text as at')
  await serveLost(stage, loss)
  const before = await countSettled(world)
  await archiveAll(world)
  await world.postgres.kill()
  rmSync(data, { recursive: true })
  await copyTree(copy, data)
  writeInto(data, 'recovery.signal', '')
  appendFileSync(
    join(data, 'postgresql.auto.conf'),
    `recovery_target_time = '${rows[0]?.at}'\nrecovery_target_action = 'promote'\n`,
  )
  await world.postgres.start()
  await untilPromoted(world)
  stage.figure('calls that the ledger lost', before - (await countSettled(world)))
  await bookAgain(stage, before)
}

async function archiveAll({ folder, sql }: World): Promise<void> {
  const { rows } = await sql.query<{ file: string }>('select pg_walfile_name(pg_switch_wal()) as file')
  const file = rows[0]?.file ?? ''
  await until('the log is archived', ARCHIVED_WITHIN_MS, () => readdirSync(archiveOf(folder)).includes(file))
}

async function untilPromoted({ sql }: World): Promise<void> {
  await until('the server takes writes', PROMOTED_WITHIN_MS, async () => {
    const answer = await sql
      .query<{ recovers: boolean }>('select pg_is_in_recovery() as recovers')
      .catch(() => undefined)
    return answer?.rows[0]?.recovers === false
  })
}

/** Promotes a replica that lacks the last moments of the primary. */
async function promoteReplica(stage: Stage, loss: Loss): Promise<void> {
  const { world } = stage
  const data = postgresData(world.folder)
  const copy = join(world.folder, 'backup')
  await backUp(world, copy)
  const warm = stage.load({ clients: 4, pauseMs: 5 })
  await warm.untilServed(50)
  await warm.stop()
  await measureDrain(stage)
  await archiveAll(world)
  // From here on nothing that the primary writes reaches the replica.
  const shipped = join(world.folder, 'shipped')
  mkdirSync(shipped)
  await copyTree(`${archiveOf(world.folder)}/.`, shipped)
  chmodSync(shipped, 0o755)
  await serveLost(stage, loss)
  const before = await countSettled(world)
  await world.postgres.kill()
  rmSync(data, { recursive: true })
  rmSync(archiveOf(world.folder), { recursive: true })
  await copyTree(copy, data)
  await copyTree(shipped, archiveOf(world.folder))
  chmodSync(archiveOf(world.folder), 0o777)
  writeInto(data, 'standby.signal', '')
  await world.postgres.start()
  await world.sql.query('select pg_promote()').catch(() => undefined)
  await untilPromoted(world)
  stage.figure('calls that the ledger lost', before - (await countSettled(world)))
  await bookAgain(stage, before)
}

const lossOf = ({ isQuick }: Stage): Loss => ({ lostMs: isQuick ? LOST_QUICKLY_MS : LOST_MS })

export const LEDGER_PAST_ROWS: readonly Row[] = [
  {
    number: 'F48',
    title: 'the folder of Postgres is put back as it was before',
    world: {},
    run: (stage) => restoreFolder(stage, lossOf(stage)),
  },
  {
    number: 'F49',
    title: 'Postgres is restored to an instant from a backup and its archived log',
    world: { keepsArchive: true },
    run: (stage) => restoreToInstant(stage, lossOf(stage)),
  },
  {
    number: 'F50',
    title: 'a replica of Postgres without the last moments is promoted',
    world: { keepsArchive: true },
    run: (stage) => promoteReplica(stage, lossOf(stage)),
  },
]
