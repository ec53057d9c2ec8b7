import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { sweepHolds } from '#control-plane/services/booking/sweep.ts'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { CallSeen } from './client.ts'
import { findSecrets, readLogs } from './secrets.ts'
import type { World } from './world.ts'

const BUCKET = 'm00'
const SWEEP_EVERY_MS = 500
const MOST_SHOWN = 5
/** Milliseconds that the queue gets before the sweeper runs. */
const UNPOSTED_AFTER_MS = 1_000

export type Verdict = {
  /** The broken promises. */
  readonly wrong: readonly string[]
  readonly charges: number
}

/**
 * Brings the world to rest and judges it. The ledger check must pass and every client's record must agree with the
 * ledger. The providers must have received at least as many calls as were charged. Every death of a process must be
 * intended, and no output may contain a secret.
 */
export async function verify(world: World, seen: readonly CallSeen[], before: Witness): Promise<Verdict> {
  const wrong: string[] = []
  await world.heal()
  await letDeadlinesPass(world)
  wrong.push(...(await checkLedger(world)))
  const { wrong: told, charges } = await compareClients(world, seen)
  wrong.push(...told)
  const after = await askProviders(world)
  const newCharges = (await countCharges(world)) - before.charges
  if (after.asked - before.asked < newCharges) {
    wrong.push(`${newCharges} charges for ${after.asked - before.asked} calls that providers saw`)
  }
  for (const { name, code, isMeant } of world.exits.splice(0)) if (!isMeant) wrong.push(`${name} ended with ${code}`)
  wrong.push(...readLogs(join(world.folder, 'logs'), world.secrets.all))
  for (const call of seen) wrong.push(...findSecrets(`an answer with ${call.status}`, call.text, world.secrets.all))
  return { wrong: [...new Set(wrong)], charges }
}

/** Number of calls at providers and of booked charges before a row. */
export type Witness = { readonly asked: number; readonly charges: number }

export async function askProviders(world: World): Promise<Witness> {
  let asked = 0
  for (const index of [0, 1]) {
    const answer = await fetch(`${world.providerOrigin(index)}/__sandbox/count`)
    asked += Number(/"count":(\d+)/.exec(await answer.text())?.[1])
  }
  return { asked, charges: await countCharges(world) }
}

const Requests = z.object({
  requests: z.array(
    z.object({ headers: z.object({ authorization: z.string().default('') }), body: z.unknown().optional() }),
  ),
})

/** The last requests of a provider, each with its key and its content. */
export async function readRequests(world: World, provider: number) {
  const answer = await fetch(`${world.providerOrigin(provider)}/__sandbox/requests`)
  const { requests } = Requests.parse(await answer.json())
  return requests.map(({ headers, body }) => ({
    authorization: headers.authorization,
    text: JSON.stringify(body ?? ''),
  }))
}

async function countCharges({ sql }: World): Promise<number> {
  const { rows } = await sql.query<{ count: string }>('select count(*) from settlement where charge > 0')
  return Number(rows[0]?.count)
}

/**
 * Passes the time after which a hold without an owner ends. It is ten and a half minutes, too long for a row to wait.
 * Call it at rest, when every open hold is an orphan.
 */
async function letDeadlinesPass(world: World): Promise<number> {
  const money = world.money()
  const expiring = await expiringKey(world)
  const orphans = await money.zrange(expiring, 0, -1)
  for (const rid of orphans) {
    await money.multi().hset(moneyKeys.hold(BUCKET, rid), 'exp', '1').zadd(expiring, 'XX', 1, rid).exec()
  }
  return orphans.length
}

/** Counts the calls with a hold that have not ended. */
export async function countOpenHolds(world: World): Promise<number> {
  return world.money().zcard(await expiringKey(world))
}

/** True while an account has open holds or captures without a booking. */
export async function owes(world: World, account: string): Promise<boolean> {
  const [held, unposted] = await world.money().hmget(moneyKeys.account(BUCKET, account), 'h', 'u')
  return Number(held ?? 0) > 0 || Number(unposted ?? 0) > 0
}

async function expiringKey(world: World): Promise<string> {
  const epoch = parseMoneyEpoch(await world.money().get(moneyKeys.epoch))?.epoch ?? 0
  return moneyKeys.expiring(BUCKET, epoch)
}

/**
 * Runs the ledger check to its end. The sweeper is run here, so that the check does not wait half a minute for it.
 * Returns the breaches.
 */
export async function checkLedger(world: World): Promise<string[]> {
  const checking = runCheck(world, ['--quiesce'])
  const over = new AbortController()
  const sweeping = (async () => {
    while (!over.signal.aborted) {
      await sweepHolds(world.market.plane, UNPOSTED_AFTER_MS).catch(() => undefined)
      await pause(SWEEP_EVERY_MS)
    }
  })()
  const { code, text } = await checking
  over.abort()
  await sweeping
  if (code === 0) return []
  const breaches = text.split('\n').filter((line) => line.includes('BREACH'))
  return breaches.length > 0 ? breaches : [`check:ledger ended with ${code}: ${text.slice(-300)}`]
}

/** Runs the ledger check once. Returns its exit code and output. */
export function runCheck(world: World, flags: readonly string[]): Promise<{ code: number | null; text: string }> {
  const child = spawn(process.execPath, [world.binaries.checkLedger, ...flags], {
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: world.postgres.url(),
      REDIS_URL: world.redis().url(),
      JOURNAL_DIR: world.journalDir,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (text += bytes.toString()))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, text })))
}

type Row = { readonly rid: string; readonly charge: string; readonly outcome: string }

/** Compares each client's record with the ledger. */
async function compareClients({ sql }: World, seen: readonly CallSeen[]): Promise<Verdict> {
  const rids = seen.flatMap(({ rid }) => (rid === undefined ? [] : [rid]))
  const { rows } = await sql.query<Row>('select rid, charge, outcome from settlement where rid = any($1)', [rids])
  const settled = new Map(rows.map((row) => [row.rid, row]))
  const wrong: string[] = []
  for (const { rid, isComplete, costMicro, status, errorCode } of seen) {
    const row = rid === undefined ? undefined : settled.get(rid)
    const charge = row === undefined ? undefined : BigInt(row.charge)
    if (isComplete && (costMicro === undefined || charge !== costMicro)) {
      wrong.push(`${rid}: the client has a whole answer for ${costMicro}, the ledger says ${charge}`)
    }
    if (status >= 400 && charge !== undefined && charge > 0n) {
      wrong.push(`${rid}: refused with ${status} ${errorCode} and charged ${charge}`)
    }
  }
  if (new Set(rids).size !== rids.length) wrong.push('two calls had one request id')
  const charges = rows.filter((row) => row.charge !== '0').length
  return { wrong: wrong.slice(0, MOST_SHOWN), charges }
}
