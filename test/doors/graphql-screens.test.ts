import { basename } from 'node:path'
import { print } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readPageQueries } from '#bundle/page-queries.mjs'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { makeHistory } from '#dev/seed/history.ts'
import { DAY } from '#shared/clock.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'
import { LENT_RESOURCE, putSampleResource } from '#test/support/doors/sample-lent-key.ts'
import { storePaidCall } from '#test/support/doors/stored-paid-call.ts'
import { newWallet, signInForSession } from '#test/support/doors/wallet.ts'

/** The queries of screens by their files. A file is named after its side and screen. */
const SCREENS = [...(await readPageQueries())].filter(([name]) =>
  /(?:buyer|operator|public|seller)-[\w-]+\.graphql$/.test(name),
)
const CALLS = 300
/** The most SQL statements of one screen. A screen that reads row by row has hundreds. */
const MOST_STATEMENTS = 24

let market: TestMarket
let ada: Person
let variables: Record<string, Record<string, unknown>>
let operatorKey: string
let session: Record<string, string>

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  const ids: string[] = []
  for (const [index, model] of ['gpt-test', 'gpt-test', 'claude-test'].entries()) {
    ids.push((await listOffer(market, ada.seller, { model, discount: 20 + index })).id)
  }
  await makeHistory(market.plane, CALLS)
  await putSampleResource(market)
  const rid = market.plane.ids.ulid()
  const call = { rid, account: ada.buyer.account, sellerAccount: ada.seller.account, model: 'gpt-test', charge: 100 }
  await postBatch(market.plane, { events: [eventText(call)], source: 'test' })
  await rollUp(market.plane, 0)
  operatorKey = await market.managementKey('operator')
  session = await signInForSession(market, newWallet())
  const made = await market.rest('POST', '/v1/organizations', { headers: session, body: { name: 'Team' } })
  const model = { model: 'gpt-test', name: 'gpt-test' }
  const from = market.plane.clock.now() - 7 * DAY
  variables = {
    'public-model': model,
    'public-resource': { id: LENT_RESOURCE },
    'public-receipt': { id: await storePaidCall(market) },
    'buyer-receipt': { id: rid, isTransaction: false },
    'operator-support': {
      find: ada.wallet.slice(0, 10),
      hasFind: true,
      account: ada.buyer.account,
      hasAccount: true,
      call: rid,
      hasCall: true,
    },
    'public-feed': { from },
    'public-status': { from },
    'operator-incidents': { from },
    'operator-figures': { from, bucket: 'day' },
    'seller-yield': { ...model, discount: null, hasModel: true },
    'seller-offer': { id: ids[0] },
    'buyer-log-entry': { id: rid },
    // This market has no chain.
    'buyer-credit': { withAllowance: false },
    'operator-catalogue': { ...model, hasModel: true },
    'buyer-organization': { organization: z.object({ id: z.string() }).loose().parse(made.body).id },
    'buyer-logs': { interval: 'day' },
    'buyer-webhook': { id: await webhookOf(ada) },
    'buyer-overview': { period: '30d', interval: 'day' },
    'buyer-routing': { policy: { minDiscountPct: 10, providersBlocked: ['nobody'] } },
    'buyer-playground': { a: 'gpt-test', b: 'claude-test', c: '', d: '', hasB: true, hasC: false, hasD: false },
    'buyer-activity': { interval: 'day', groupBy: 'model' },
    'seller-earnings': { range: '30d' },
    'seller-health': { withSums: true, withLog: true },
  }
})
afterAll(() => market?.stop())

async function webhookOf({ buyerKey: key }: Person): Promise<string> {
  const made = await market.rest('POST', '/v1/buyer/webhooks', {
    key,
    body: { url: 'https://hooks.example.com/market' },
  })
  return z.object({ id: z.string() }).loose().parse(made.body).id
}

/** The headers of the user of a screen. */
function headersOf(screen: string): Record<string, string> {
  if (/^buyer-(?:organization|start|account)/.test(screen)) return session
  if (screen.startsWith('buyer-')) return { authorization: `Bearer ${ada.buyerKey}` }
  if (screen.startsWith('seller-')) return { authorization: `Bearer ${ada.sellerKey}` }
  return screen.startsWith('operator-') ? { authorization: `Bearer ${operatorKey}` } : {}
}

const Answer = z.strictObject({ data: z.record(z.string(), z.unknown()) })

describe('every screen is one query, and a bounded number of SQL statements', () => {
  it.each(SCREENS)('%s', async (file, document) => {
    const screen = basename(file, '.graphql')
    const body = { query: print(document), variables: variables[screen] ?? {} }
    const before = market.statements()
    const answer = await market.rest('POST', '/graphql', { headers: headersOf(screen), body })
    const statements = market.statements() - before
    console.log(`${screen}: ${statements} statements, ${answer.text.length} bytes`)
    expect(Answer.safeParse(answer.body).error, answer.text.slice(0, 500)).toBeUndefined()
    expect(statements).toBeLessThanOrEqual(MOST_STATEMENTS)
  })
})
