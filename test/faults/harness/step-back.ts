import { execFile } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '#test/support/run/until.ts'
import { archiveOf, postgresData } from './servers.ts'
import type { World } from './world.ts'

const run = promisify(execFile)

const ARCHIVED_WITHIN_MS = 30_000
const PROMOTED_WITHIN_MS = 60_000

/** The work before and after the loss of a part of the ledger. */
export type WorkAround = {
  /** Work that the restored ledger has. */
  keep(): Promise<void>
  /** Work that the restored ledger lacks. */
  lose(): Promise<void>
}

/** A way to restore a ledger to an earlier state. */
export type StepBack = (world: World, work: WorkAround) => Promise<void>

/** Writes a file that belongs to the owner of the folder, the server. */
function writeInto(folder: string, name: string, text: string): void {
  const { uid, gid } = statSync(folder)
  writeFileSync(join(folder, name), text)
  chownSync(join(folder, name), uid, gid)
}

const copyTree = (from: string, to: string) => run('cp', ['-a', from, to])

/** Copies the folder of a stopped server and puts it back later: the same cluster on the same timeline. */
export const restoreFolder: StepBack = async (world, work) => {
  const data = postgresData(world.folder)
  const copy = join(world.folder, 'backup')
  await work.keep()
  await world.postgres.stop()
  await copyTree(data, copy)
  await world.postgres.start()
  await work.lose()
  await world.postgres.kill()
  rmSync(data, { recursive: true })
  await copyTree(copy, data)
  await world.postgres.start()
}

/**
 * Copies the data of a running server like `pg_basebackup` (PostgreSQL manual, "Making a Base Backup Using the Low
 * Level API").
 */
async function backUp({ folder, sql }: World, to: string): Promise<void> {
  const session = await sql.connect()
  try {
    await session.query("select pg_backup_start('rows', true)")
    // Files that disappear during the copy do not matter, because the log has their contents.
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

/** Restores a base backup and the archived log up to a time. A new timeline begins there. */
export const restoreToInstant: StepBack = async (world, work) => {
  const data = postgresData(world.folder)
  const copy = join(world.folder, 'backup')
  await backUp(world, copy)
  await work.keep()
  const { rows } = await world.sql.query<{ at: string }>('select clock_timestamp()::text as at')
  await work.lose()
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
}

async function archiveAll({ folder, sql }: World): Promise<void> {
  const { rows } = await sql.query<{ file: string }>('select pg_walfile_name(pg_switch_wal()) as file')
  const file = rows[0]?.file ?? ''
  await until('the log is archived', ARCHIVED_WITHIN_MS, () => readdirSync(archiveOf(folder)).includes(file))
}

async function untilPromoted({ sql }: World): Promise<void> {
  await until('the server accepts writes', PROMOTED_WITHIN_MS, async () => {
    const answer = await sql
      .query<{ recovers: boolean }>('select pg_is_in_recovery() as recovers')
      .catch(() => undefined)
    return answer?.rows[0]?.recovers === false
  })
}

/** Promotes a replica that lacks the last moments of the primary. */
export const promoteReplica: StepBack = async (world, work) => {
  const data = postgresData(world.folder)
  const copy = join(world.folder, 'backup')
  await backUp(world, copy)
  await work.keep()
  await archiveAll(world)
  // From here on, no write of the primary reaches the replica.
  const shipped = join(world.folder, 'shipped')
  mkdirSync(shipped)
  await copyTree(`${archiveOf(world.folder)}/.`, shipped)
  chmodSync(shipped, 0o755)
  await work.lose()
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
}
