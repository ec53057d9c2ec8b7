import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { CheckConfig } from './config.ts'
import type { Finding } from './finding.ts'
import { findingOf, inOrder } from './finding.ts'
import { countJobs, readGate } from './gate-records.ts'
import type { Evidence } from './gate-rules.ts'
import { checkGate, unrest } from './gate-rules.ts'
import { readJournals } from './journal-records.ts'
import { readFacts } from './ledger-facts.ts'
import { checkLedger } from './ledger-rules.ts'

/** The longest wait for rest, and the time between two checks. */
export const QUIESCENCE_MS = 60_000
const LOOK_EVERY_MS = 500
/**
 * A busy market is read part by part, so a call between two reads can look like a breach once. Only a lasting
 * difference is a breach.
 */
const MAX_LOOKS = 4

export type CheckOptions = {
  /** Waits for rest, and then checks that everything agrees (I10). */
  readonly isQuiesced: boolean
  readonly quiescenceMs?: number
  /** The number of successive checks that must find a breach. More than one is needed only while calls run. */
  readonly maxLooks?: number
}

export type Report = {
  readonly findings: readonly Finding[]
  /** Events that a person must look at. They are no breach, because their money stays reserved. */
  readonly poisoned: number
  readonly conflicts: number
}

const NOT_YET: readonly Finding[] = [
  { id: 'I20', state: 'none', detail: 'shown by tests' },
  { id: 'I21', state: 'none', detail: 'shown by tests' },
  { id: 'I22', state: 'none', detail: 'shown by tests' },
  { id: 'I23', state: 'none', detail: 'shown by tests' },
]

/** Reads the three records of money and checks every invariant that applies. Throws when one of them cannot be read. */
export async function checkMoney(config: CheckConfig, options: CheckOptions): Promise<Report> {
  const client = await connect(config)
  const redis = new Redis(config.redisUrl, { lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => null })
  redis.on('error', () => undefined)
  try {
    await redis.connect()
    const rest = options.isQuiesced ? await awaitRest(config, client, redis, options.quiescenceMs) : undefined
    let { findings, evidence } = await look(config, client, redis)
    for (
      let looks = 1;
      looks < (options.maxLooks ?? MAX_LOOKS) && findings.some(({ state }) => state === 'breach');
      looks++
    ) {
      await wait(LOOK_EVERY_MS)
      const again = await look(config, client, redis)
      findings = again.findings
      evidence = again.evidence
    }
    const last: Finding =
      rest === undefined
        ? { id: 'I10', state: 'none', detail: 'checked only at rest, with --quiesce' }
        : findingOf('I10', 'at rest: nothing held, nothing unposted, gate and ledger equal', rest)
    const { poisoned, conflicts } = evidence.facts
    return { findings: inOrder([...findings, last, ...NOT_YET]), poisoned, conflicts }
  } finally {
    redis.disconnect()
    await client.end()
  }
}

type Look = { findings: Finding[]; evidence: Evidence }

/** The longest wait for one connection, and the attempts: a busy server may let the first ones time out. */
const CONNECT_TIMEOUT_MS = 5_000
const CONNECT_TRIES = 5

async function connect({ databaseUrl }: CheckConfig): Promise<pg.Client> {
  for (let tries = 1; ; tries++) {
    const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
    // Without a listener a broken connection would end the process. The next read fails instead.
    client.on('error', () => undefined)
    try {
      await client.connect()
      return client
    } catch (error) {
      if (tries >= CONNECT_TRIES) throw error
    }
  }
}

/**
 * Reads all stores once. Journals come first, then the gate, then the ledger, so that a record that moves on meanwhile
 * is not missed.
 */
async function look(config: CheckConfig, client: pg.Client, redis: Redis): Promise<Look> {
  const journals = await readJournals(config.journalDir)
  const gate = await readGate(redis)
  const jobs = await countJobs(redis)
  const rids = new Set(gate.holds.map((hold) => hold.rid))
  for (const folder of journals) for (const capture of folder.captures) rids.add(capture.rid)
  await client.query('begin isolation level repeatable read read only')
  try {
    const facts = await readFacts(client, [...rids])
    const ledger = await checkLedger(client)
    const evidence = { journals, gate, facts, jobs, now: Date.now() }
    return { findings: merge(ledger, checkGate(evidence)), evidence }
  } finally {
    await client.query('rollback')
  }
}

/** Merges two findings of an invariant. A breach in either is a breach. */
function merge(ledger: readonly Finding[], gate: readonly Finding[]): Finding[] {
  const merged = new Map<string, Finding>()
  for (const finding of [...ledger, ...gate]) {
    const knownFinding = merged.get(finding.id)
    if (knownFinding === undefined || knownFinding.state === finding.state) {
      const detail = knownFinding === undefined ? finding.detail : `${knownFinding.detail}; ${finding.detail}`
      merged.set(finding.id, { ...finding, detail })
    } else if (finding.state === 'breach') merged.set(finding.id, finding)
  }
  return [...merged.values()]
}

/** Waits for rest. Returns the work that is still moving when the time is up. */
async function awaitRest(
  config: CheckConfig,
  client: pg.Client,
  redis: Redis,
  limitMs = QUIESCENCE_MS,
): Promise<string[]> {
  const end = performance.now() + limitMs
  for (;;) {
    const stirring = unrest((await look(config, client, redis)).evidence)
    if (stirring.length === 0 || performance.now() > end) return stirring
    await wait(LOOK_EVERY_MS)
  }
}
