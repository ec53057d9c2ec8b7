import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { openAccount } from '#control-plane/db/accounts.ts'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { Gate } from '#control-plane/ports/gate.ts'
import type { IngestCtx } from '#control-plane/services/ingest.ts'
import { postBatch } from '#control-plane/services/ingest.ts'
import { postTransaction } from '#control-plane/services/ledger.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { systemClock } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { eventText } from '#test/support/usage-events.ts'

const EVENTS = 30_000
const WARM_UP_EVENTS = 3_000
/** What 15 ms of 4,000 calls a second come to. */
const BATCH = 60
const POSTERS = 2
const BUYERS = 50
const SELLERS = 10

/** The gate's part is measured by its own bench; here only Postgres and our code count. */
const silentGate: Gate = {
  ack: async () => undefined,
  seed: async () => undefined,
  spendable: async () => undefined,
  unposted: async () => [],
  expireHolds: async () => 0,
}

/** Events a second that two posters of one process book on a PostgreSQL with its durability on. */
export async function measurePosting(): Promise<{ what: string; figure: string; beside: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'market-posting-'))
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres') })
  try {
    const { db, drop } = await createTestDatabase(postgres.url)
    await fund(db)
    const ctx: IngestCtx = { db, gate: silentGate, log: pino({ level: 'silent' }) }
    await postAll(ctx, WARM_UP_EVENTS)
    const perSecond = await postAll(ctx, EVENTS)
    await drop()
    return {
      what: 'posting of usage events',
      figure: `${perSecond.toFixed(0)} events/s`,
      beside: `${POSTERS} posters, batches of ${BATCH}, gate left out`,
    }
  } finally {
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const buyer = (index: number): AccountId => `acc_buyer${index % BUYERS}`
const seller = (index: number): AccountId => `acc_seller${index % SELLERS}`

async function fund(db: Database): Promise<void> {
  const ids = createIds(systemClock)
  await transact(db, async (trx) => {
    for (let index = 0; index < SELLERS; index++) {
      await openAccount(trx, { id: seller(index), kind: 'seller_available', owner: 'usr_seller' })
    }
    for (let index = 0; index < BUYERS; index++) {
      const account = buyer(index)
      await openAccount(trx, { id: account, kind: 'buyer_credit', owner: 'usr_buyer' })
      const amount = 1_000_000_000n
      const entries = [
        { account, amount },
        { account: 'acc_promo', amount: -amount },
      ] as const
      await postTransaction(trx, { id: ids.ulid(), key: `grant:${index}`, kind: 'grant', entries })
    }
  })
}

async function postAll(ctx: IngestCtx, count: number): Promise<number> {
  const batches: string[][] = []
  for (let index = 0; index < count; index++) {
    if (index % BATCH === 0) batches.push([])
    const text = eventText({ account: buyer(index * 7), sellerAccount: seller(index), charge: 500 + (index % 900) })
    batches.at(-1)?.push(text)
  }
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: POSTERS }, async () => {
      for (let events = batches.shift(); events !== undefined; events = batches.shift()) {
        const { posted } = await postBatch(ctx, { events, source: 'bench' })
        if (posted !== events.length) throw new Error(`posted ${posted} of ${events.length}`)
      }
    }),
  )
  return (count * 1_000) / (performance.now() - startedAt)
}
