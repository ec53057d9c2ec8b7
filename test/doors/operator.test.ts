import { Queue, Worker } from 'bullmq'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { appRouter } from '#control-plane/api/trpc/router.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import { OffersDocumentSchema } from '#shared/contract/snapshot.ts'
import { reserveRequest, untilOpen } from '#test/support/books/gate.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'
import { until } from '#test/support/run/until.ts'

let market: TestMarket
let ada: Person
let staff: ReturnType<TestMarket['trpc']>

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  staff = market.trpc(await market.managementKey('operator'))
})
afterAll(() => market.stop())

const list = (model = 'gpt-test') => listOffer(market, ada.seller, { model, discount: 10 })

async function routed(model: string): Promise<string[]> {
  const text = await market.world.redis.get(`snap:doc:offers:${model}`)
  if (text === null) return []
  return OffersDocumentSchema.parse(JSON.parse(text).body).offers.map(({ id }) => id)
}

describe('operations of operators', () => {
  const groups = ['catalog', 'alias', 'price', 'provider', 'marketOffer', 'hold', 'queue', 'node', 'snapshot']
  groups.push(
    'incident',
    'auditLog',
    'rateLimit',
    'feature',
    'refund',
    'ledger',
    'poison',
    'conflict',
    'invariants',
    'payoutHold',
    'payments',
  )

  it('are closed to every other key, for any input, and to callers without a key', async () => {
    // Buyers open and read deposits of their own. Cash deposits are the operator's.
    const isOperators = (path: string) => groups.includes(path.split('.')[0] ?? '') || path === 'deposit.recordFiat'
    const paths = Object.keys(appRouter._def.procedures).filter(isOperators)
    expect(paths.length).toBeGreaterThan(35)
    const org = await market.managementKey('org')
    for (const path of paths) {
      const ask = async (key?: string) => {
        const headers = key === undefined ? {} : { key }
        const asQuery = await market.rest('GET', `/trpc/${path}`, headers)
        return asQuery.status === 405 ? market.rest('POST', `/trpc/${path}`, { ...headers, body: {} }) : asQuery
      }
      const statuses = await Promise.all([ask(), ask(ada.buyerKey), ask(ada.sellerKey), ask(org)])
      expect([path, ...statuses.map(({ status }) => status)]).toEqual([path, 401, 401, 401, 403])
    }
  })

  it('are on no REST door, and those of the page on GraphQL are for operators only', async () => {
    const key = await market.managementKey('operator')
    expect((await market.rest('GET', '/v1/operator/nodes', { key })).status).toBe(404)
    const schema = await market.graphql(key, '{ __schema { mutationType { fields { name } } } }')
    expect(schema.text).not.toMatch(/putRateLimit/i)
    for (const change of [
      'putFeature(name: new_offers, isOn: true, reason: "mine") { name }',
      'importCatalog(source: "mine", models: []) { added }',
    ]) {
      expect((await market.graphql(ada.buyerKey, `mutation { ${change} }`)).text).toContain('wrong_key_type')
    }
  })
})

describe('an offer and its provider', () => {
  it('leave the market and come back as the operator says', async () => {
    const offer = await list()
    const found = await staff.marketOffer.search.query({ model: 'gpt-test', wallet: ada.wallet })
    expect(found.items.map(({ id }) => id)).toContain(offer.id)
    expect(await routed('gpt-test')).toContain(offer.id)
    await staff.marketOffer.delist.mutate({ id: offer.id, reason: 'resold keys' })
    expect(await routed('gpt-test')).not.toContain(offer.id)
    const shown = await staff.marketOffer.search.query({ isDelisted: true })
    expect(shown.items).toMatchObject([{ id: offer.id, delistedReason: 'resold keys', discountPct: 10 }])
    await staff.marketOffer.restore.mutate({ id: offer.id, reason: 'cleared' })
    const path = `/v1/seller/offers/${offer.id}`
    await market.rest('PATCH', path, { key: ada.sellerKey, body: { status: 'active' } })
    expect(await routed('gpt-test')).toContain(offer.id)
  })

  it('trust, distrust and remove providers', async () => {
    const offer = await list('claude-test')
    await staff.provider.trust.mutate({ id: 'test', isTrusted: false, reason: 'under review' })
    const providers = await staff.provider.list.query()
    expect(providers.find(({ id }) => id === 'test')).toMatchObject({ isTrusted: false })
    expect(providers.find(({ id }) => id === 'test')?.activeOffers).toBeGreaterThan(0)
    await staff.provider.trust.mutate({ id: 'test', isTrusted: true, reason: 'reviewed' })
    expect(await routed('claude-test')).toContain(offer.id)
    expect(await trpcCodeOf(staff.provider.remove.mutate({ id: 'test', reason: 'gone' }))).toBe('conflict')
    await staff.provider.remove.mutate({ id: 'public', reason: 'gone' })
    expect((await staff.provider.list.query()).map(({ id }) => id)).not.toContain('public')
  })
})

describe('the running system', () => {
  it('shows holds, releases one, and keeps the audit of all of it', async () => {
    const node = await market.world.node('staff-node')
    await untilOpen(node)
    const account = await market.world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 400 }))
    const [seen] = await staff.hold.list.query({ account })
    expect(seen).toMatchObject({ rid: hold.rid, amountMicro: '400', keyId: null, isOverdue: false })
    await staff.hold.release.mutate({ rid: hold.rid, reason: 'its process is gone' })
    expect(await staff.hold.list.query({ account })).toEqual([])
    expect(await market.world.gate.spendable(account)).toMatchObject({ heldMicro: 0n })
    expect(await trpcCodeOf(staff.hold.release.mutate({ rid: hold.rid, reason: 'twice' }))).toBe('not_found')
    const nodes = await staff.node.list.query()
    expect(nodes).toMatchObject([{ node: node.journal.member, isMember: true, isAlive: true, report: null }])
    const { items, nextToken } = await staff.auditLog.search.query({ operation: 'hold.release', limit: 1 })
    expect(items).toMatchObject([{ operation: 'hold.release', actorKind: 'operator', after: { state: 'released' } }])
    expect(nextToken).toBeNull()
    const all = await staff.auditLog.search.query({ limit: 2 })
    const older = await staff.auditLog.search.query({ limit: 2, nextToken: all.nextToken ?? '' })
    expect(older.items.every(({ id }) => id < (all.items[1]?.id ?? ''))).toBe(true)
  })

  it('shows failed jobs without their contents, and runs them again', async () => {
    const connection = { url: market.world.redisUrl, maxRetriesPerRequest: null }
    const queue = new Queue('maintenance', { connection })
    await queue.add('broken', { secret: 'not shown' }, { attempts: 1 })
    const worker = new Worker('maintenance', async () => Promise.reject(new Error('sk-secret-123456789 refused')), {
      connection,
    })
    await until('the job gave up', 10_000, async () => (await queue.getFailedCount()) === 1)
    await worker.close()
    const [job] = await staff.queue.failed.query({ queue: 'maintenance' })
    expect(job).toMatchObject({ name: 'broken', reason: '[secret] refused', attempts: 1 })
    expect(JSON.stringify(job)).not.toContain('not shown')
    expect(await staff.queue.retry.mutate({ queue: 'maintenance', id: job?.id ?? '' })).toEqual({ retried: 1 })
    const counts = (await staff.queue.list.query()).find((known) => known.queue === 'maintenance')
    expect(counts).toMatchObject({ waiting: 1, failed: 0 })
    await queue.obliterate({ force: true })
    await queue.close()
  })

  it('counts queues', async () => {
    const queues = await staff.queue.list.query()
    expect(queues.find(({ queue }) => queue === 'usage')).toMatchObject({ waiting: 0, failed: 0 })
    expect(await staff.queue.failed.query({ queue: 'usage' })).toEqual([])
    expect(await trpcCodeOf(staff.queue.retry.mutate({ queue: 'usage', id: '9' }))).toBe('not_found')
    expect(await staff.queue.retry.mutate({ queue: 'usage' })).toEqual({ retried: 0 })
  })

  it('shows the snapshot and publishes it again on request', async () => {
    const before = await staff.snapshot.read.query()
    const of = (view: typeof before, name: string) => view.documents.find((document) => document.name === name)
    expect(of(before, 'models')?.bytes).toBeGreaterThan(100)
    const { published } = await staff.snapshot.republish.mutate({ names: ['models'] })
    expect(published).toEqual(['models'])
    const after = await staff.snapshot.read.query()
    expect(of(after, 'models')?.version).toBeGreaterThan(of(before, 'models')?.version ?? 0)
    expect(await trpcCodeOf(staff.snapshot.republish.mutate({ names: ['offers:none'] }))).toBe('not_found')
    const { items } = await staff.auditLog.search.query({ operation: 'snapshot.republish', limit: 10 })
    expect(items).toMatchObject([{ after: { named: ['models'] } }])
  })
})

describe('limits and switches', () => {
  it('apply at once and can be reset', async () => {
    const read = () => market.rest('GET', '/v1/seller/offers', { key: ada.sellerKey })
    expect((await read()).status).toBe(200)
    await staff.rateLimit.put.mutate({ name: 'read', perKey: 1 })
    await until('the limit applies', 4_000, async () => codeOf(await read()) === 'rate_limited')
    const limits = await staff.rateLimit.list.query()
    expect(limits.find(({ name }) => name === 'read')).toMatchObject({ perKey: 1, isStandard: false, plane: 'control' })
    await staff.rateLimit.put.mutate({ name: 'read', perKey: null })
    await until('the default applies', 4_000, async () => (await read()).status === 200)
    expect(await trpcCodeOf(staff.rateLimit.put.mutate({ name: 'nothing', perKey: 1 }))).toBe('not_found')
  })

  it('reach both planes', async () => {
    await staff.rateLimit.put.mutate({ name: 'key_in_flight', perKey: 7 })
    await staff.feature.put.mutate({ name: 'paid_calls', isOn: false, reason: 'drill' })
    await staff.feature.put.mutate({ name: 'new_offers', isOn: false, reason: 'drill' })
    const limits = JSON.parse((await market.world.redis.get(cacheKeys.document('limits'))) ?? '{}').body
    expect(limits).toMatchObject({ keyInFlight: 7, switchedOff: ['new_offers', 'paid_calls'] })
    await until('no offer is accepted', 4_000, async () => {
      const refused = await list().then(
        () => undefined,
        (error: unknown) => error,
      )
      return refused instanceof Error && refused.message.includes('switched this off')
    })
    await staff.feature.put.mutate({ name: 'new_offers', isOn: true, reason: 'drill over' })
    await staff.feature.put.mutate({ name: 'paid_calls', isOn: true, reason: 'drill over' })
    const paid = (await staff.feature.list.query()).find(({ name }) => name === 'paid_calls')
    expect(paid).toMatchObject({ isOn: true, reason: 'drill over' })
    // Other tests need offers on sale.
    await until('offers are accepted again', 4_000, async () =>
      list().then(
        () => true,
        () => false,
      ),
    )
  })
})
