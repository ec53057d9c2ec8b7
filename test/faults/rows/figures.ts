import { setTimeout as pause } from 'node:timers/promises'
import { postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { createClient } from '#test/faults/harness/client.ts'
import { countServed, outageMs, WHOLE } from '#test/faults/harness/load.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import type { World } from '#test/faults/harness/world.ts'
import { until } from '#test/support/run/until.ts'

const ACCOUNTS = 10_000
const ACCOUNT_MICRO = 1_000_000n
const EMPTY_TARGET_MS = 10_000
const DEAD_NODE_TARGET_MS = 10_000
const CONNECTIONS = 64
const BALANCE_USD = 0.2
const STILL_MS = 3_000

/** Creates thousands of funded accounts, a thousand in each transaction of the ledger. */
async function fundAccounts({ market }: World, count: number): Promise<void> {
  const { db, ids, ledger } = market.plane
  const accounts = Array.from({ length: count }, () => ids.make('acc'))
  for (let start = 0; start < count; start += 1_000) {
    const rows = accounts.slice(start, start + 1_000)
    const owner = ids.make('usr')
    await db
      .insertInto('account')
      .values(rows.map((id) => ({ id, kind: 'buyer_credit', owner, balance: 0n, version: 0n })))
      .execute()
    const entries = rows.map((account) => ({ account, amount: ACCOUNT_MICRO }))
    const id = ids.ulid()
    const promo = { account: 'acc_promo', amount: -ACCOUNT_MICRO * BigInt(rows.length) } as const
    await ledger.transact((trx) =>
      postTransaction(trx, { id, key: `grant:${id}`, kind: 'grant', entries: [...entries, promo] }),
    )
  }
}

async function emptyGate(stage: Stage): Promise<void> {
  const { world } = stage
  await fundAccounts(world, ACCOUNTS)
  const load = stage.load({ clients: 8 })
  await load.untilServed(100)
  const at = performance.now()
  await world.money().flushall()
  await load.untilServed(200)
  const outage = outageMs(load.seen, at + 50) ?? Number.POSITIVE_INFINITY
  stage.figure('accounts', ACCOUNTS)
  stage.target('outage (ms)', outage, EMPTY_TARGET_MS)
}

async function rebuildWithoutNode(stage: Stage): Promise<void> {
  const { world } = stage
  const load = stage.load({ clients: 8, nodes: [0] })
  await load.untilServed(50)
  await world.dataPlanes[1].kill()
  const at = performance.now()
  await world.money().flushall()
  await pause(500)
  await load.untilServed(50)
  const outage = outageMs(load.seen, at + 300) ?? Number.POSITIVE_INFINITY
  stage.target('outage with a dead node (ms)', outage, DEAD_NODE_TARGET_MS)
}

/**
 * Clients call without a pause until the balance covers no further call. The charges must add up to the spendable
 * balance.
 */
async function spendOut(stage: Stage): Promise<void> {
  const { world } = stage
  const buyer = await world.market.buyer(BALANCE_USD)
  const load = stage.load({ clients: CONNECTIONS, buyers: [buyer], shapes: [WHOLE] })
  let served = 0
  let stillSince = performance.now()
  await until('the balance is spent', 60_000, () => {
    const now = countServed(load.seen)
    if (now !== served) stillSince = performance.now()
    served = now
    return performance.now() - stillSince > STILL_MS
  })
  const seen = await load.stop()
  const client = createClient(world.origin, 'last')
  let last = await client.call(0, buyer, WHOLE)
  stage.saw(last)
  await until('the last call is answered', 20_000, async () => {
    if (last.status !== 503) return true
    last = await client.call(0, buyer, WHOLE)
    stage.saw(last)
    return false
  })
  client.close()
  stage.require(last.status === 402, `a call on a spent balance saw ${last.status}`)
  const required = Number(/"required_usdc":\s*"(\d+)"/.exec(last.text)?.[1])
  const available = Number(/"available_usdc":\s*"(\d+)"/.exec(last.text)?.[1])
  const spent = seen.reduce((sum, { isComplete, costMicro }) => sum + (isComplete ? Number(costMicro) : 0), 0)
  const start = BALANCE_USD * 1_000_000
  stage.figure('served', countServed(seen))
  stage.figure('left (micro-USD)', start - spent)
  stage.figure('needed for one more (micro-USD)', required)
  stage.require(spent <= start, `${spent} spent of ${start}`)
  stage.require(available === start - spent, `${available} available, ${start - spent} left`)
  stage.require(start - spent < required, `${start - spent} left covers ${required}`)
  const strange = seen.filter(({ isComplete, status }) => !isComplete && status !== 402 && status !== 503)
  stage.require(strange.length === 0, `${strange.length} calls saw ${strange[0]?.status}`)
}

export const FIGURE_ROWS: readonly Row[] = [
  { number: 'N01', title: `an empty money Redis with ${ACCOUNTS} funded accounts`, run: emptyGate },
  { number: 'N02', title: 'the gate rebuilt while a node is dead', run: rebuildWithoutNode },
  {
    number: 'N03',
    title: `one balance hit by ${CONNECTIONS} connections to two processes: exactly what it covers succeeds`,
    isQuick: true,
    run: spendOut,
  },
]
