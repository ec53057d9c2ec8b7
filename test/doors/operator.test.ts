import { Queue, Worker } from 'bullmq'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { appRouter } from '#control-plane/api/trpc/router.ts'
import { HOUR } from '#shared/clock.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import { OffersDocumentSchema } from '#shared/contract/snapshot.ts'
import type { Person, TestMarket } from '#test/support/control-plane.ts'
import { catalogItem, codeOf, startMarket, trpcCodeOf } from '#test/support/control-plane.ts'
import { reserveRequest, untilOpen } from '#test/support/gate.ts'
import { listOffer } from '#test/support/offers.ts'
import { until } from '#test/support/until.ts'

let market: TestMarket
let ada: Person
let staff: ReturnType<TestMarket['trpc']>

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  staff = market.trpc(await market.managementKey('operator'))
})
afterAll(() => market.stop())

/** A model in OpenRouter's list, with many members that nothing here reads. */
const row = (id: string, changes: object = {}) => ({
  id,
  canonical_slug: `${id}-20260301`,
  hugging_face_id: null,
  name: `Lab: ${id}`,
  created: 1_770_000_000,
  description: 'A model.',
  context_length: 200_000,
  architecture: {
    modality: 'text+image->text',
    input_modalities: ['text', 'image'],
    output_modalities: ['text'],
    tokenizer: 'GPT',
    instruct_type: null,
  },
  pricing: { prompt: '0.000001', completion: '0.000005', request: '0', image: '0', web_search: '0.01' },
  top_provider: { context_length: 200_000, max_completion_tokens: 32_000, is_moderated: true },
  per_request_limits: null,
  supported_parameters: ['temperature', 'tools', 'reasoning'],
  default_parameters: {},
  ...changes,
})

const seed = (model: string) => staff.catalog.import.mutate({ source: 'seed', models: [catalogItem(model)] })
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

  it('open to no other key, whatever the input, and to nobody without one', async () => {
    // Buyers open and read deposits of their own. Those of cash are the operator's.
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

  it('stand on no REST door, and those of the page on GraphQL are for operators alone', async () => {
    const key = await market.managementKey('operator')
    expect((await market.rest('GET', '/v1/operator/nodes', { key })).status).toBe(404)
    const schema = await market.graphql(key, '{ __schema { mutationType { fields { name } } } }')
    expect(schema.text).not.toMatch(/importCatalog|putRateLimit/i)
    const put = 'mutation { putFeature(name: new_offers, isOn: true, reason: "mine") { name } }'
    expect((await market.graphql(ada.buyerKey, put)).text).toContain('wrong_key_type')
  })
})

describe('a list of models in the shape of OpenRouter', () => {
  it('is compared first, then imported, with each change in the history and bad rows left out', async () => {
    const models = [
      row('lab/gpt-test', { pricing: { prompt: '0.0000005', completion: '0.000002' } }),
      row('acme/newcomer-1'),
      row('acme/newcomer-1:free'),
      row('acme/newcomer-1'),
      row('acme/auto', { pricing: { prompt: '-1', completion: '-1' } }),
      { id: 7 },
      'nonsense',
    ]
    const diff = await staff.catalog.diff.query({ models })
    expect(diff.models).toBe(2)
    expect(diff.changes.map(({ model, kind }) => [model, kind])).toEqual([
      ['gpt-test', 'changed'],
      ['newcomer-1', 'added'],
    ])
    expect(diff.rejected.map(({ index }) => index)).toEqual([2, 3, 4, 5, 6])
    const prices = diff.changes[0]?.fields.filter(({ field }) => field.startsWith('price.'))
    expect(prices).toEqual([{ field: 'price.input', before: '250000', after: '500000' }])
    expect(await staff.price.list.query({ model: 'gpt-test' })).toMatchObject({ versions: [{ source: 'test' }] })

    const report = await staff.catalog.import.mutate({ source: 'openrouter 2026-11', models })
    expect(report).toMatchObject({ models: 2, added: 1, changed: 1, repriced: 2, takenNames: [] })
    expect(report.rejected).toEqual(diff.rejected)
    expect(await staff.catalog.diff.query({ models })).toMatchObject({ changes: [], rejected: diff.rejected })
    const { items } = await staff.catalog.history.query({ model: 'gpt-test', limit: 50 })
    expect(items.find(({ field }) => field === 'price.input')).toMatchObject({
      before: '250000',
      after: '500000',
      source: 'openrouter 2026-11',
    })
    const added = await staff.catalog.history.query({ model: 'newcomer-1', limit: 1 })
    expect(added.nextToken).not.toBeNull()
    const rest = await staff.catalog.history.query({ model: 'newcomer-1', nextToken: added.nextToken ?? '' })
    expect(rest.items.map(({ field }) => field)).toContain('added')
    expect(JSON.stringify(rest.items)).not.toContain('hugging_face')
  })

  it('refuses a price list that cannot be charged, by its line', async () => {
    const plain = { prompt: '0.000001', completion: '0.000005' }
    const at = (min_prompt_tokens: number, more: object = {}) => ({ min_prompt_tokens, prompt: '0.000002', ...more })
    const bad: [pricing: object, field: string, message: RegExp][] = [
      [{ completion: '0.000005' }, 'pricing.prompt', /expected string/],
      [{ ...plain, prompt: '-0.000001' }, 'pricing.prompt', /decimal number/],
      [{ ...plain, prompt: '1' }, 'pricing.prompt', /not of a million/],
      [{ ...plain, completion: '0.0000000000001' }, 'pricing.completion', /1e-12/],
      [{ ...plain, web_search: '1001' }, 'pricing.web_search', /1,000/],
      [{ ...plain, completion: '0' }, 'pricing', /completion: a model that writes text/],
      [{ ...plain, input_video: '0.000012' }, 'pricing', /input_video/],
      [{ ...plain, overrides: [at(-1)] }, 'pricing', /overrides.0.when.minPromptTokens/],
      [{ ...plain, overrides: [{ min_prompt_tokens: 10 }] }, 'pricing', /names a price/],
      [{ ...plain, overrides: [{ prompt: '0.000002' }] }, 'pricing', /overrides.0.*names a condition/],
      [{ ...plain, overrides: [at(200_001), at(200_001)] }, 'pricing', /same conditions/],
      [{ ...plain, overrides: [at(200_001), at(100_001)] }, 'pricing', /overrides.0: a later override/],
      [{ ...plain, overrides: [at(10, { utc_start: 100 })] }, 'pricing.overrides.0', /a start and an end/],
      [{ ...plain, overrides: [at(10, { utc_start: 100, utc_end: 100 })] }, 'pricing', /utcWindow/],
      [{ ...plain, overrides: [at(10, { utc_days: ['noday'] })] }, 'pricing.overrides.0.utc_days.0', /a day is one of/],
      [{ ...plain, overrides: [at(10, { service_tier: 'slow' })] }, 'pricing.overrides.0.service_tier', /./],
      [{ ...plain, overrides: [at(10, { region: 'eu' })] }, 'pricing.overrides.0', /region/],
    ]
    const rows = bad.map(([pricing], index) => row(`acme/bad-${index}`, { pricing }))
    const unit = row('acme/bad-unit', { pricing: plain, unit_pricing: { pictures: '0.04' } })
    const report = await staff.catalog.import.mutate({ source: 'bad', models: [...rows, unit] })
    expect(report.models).toBe(0)
    expect(report.rejected.map(({ id, field, message }) => [id, field, message])).toEqual([
      ...bad.map(([, field, message], index) => [`acme/bad-${index}`, field, expect.stringMatching(message)]),
      ['acme/bad-unit', 'unit_pricing', expect.stringMatching(/pictures/)],
    ])
  })

  it('takes conditions that each count somewhere', async () => {
    const at = (prompt: string, more: object) => ({ prompt, completion: '0.000005', ...more })
    const overrides = [
      at('0.000002', { min_prompt_tokens: 100_001 }),
      at('0.000004', { min_prompt_tokens: 200_001 }),
      at('0.000001', { service_tier: 'flex' }),
      at('0.000002', { service_tier: 'flex', min_prompt_tokens: 100_001 }),
      at('0.000003', { utc_start: 100, utc_end: 400 }),
      at('0.000006', { utc_start: 100, utc_end: 400, min_prompt_tokens: 100_001 }),
    ]
    const pricing = { prompt: '0.000001', completion: '0.000005', overrides, image: '0.001', discount: 0 }
    expect((await staff.catalog.diff.query({ models: [row('acme/tiered-1', { pricing })] })).rejected).toEqual([])
  })

  it('takes a price of 0 of what belongs to another class for none of its own, so that thinking is not free', async () => {
    const pricing = { prompt: '0.000001', completion: '0.000005', request: '0', internal_reasoning: '0' }
    const cached = { input_cache_read: '0', input_cache_write: '0', audio: '0' }
    const models = [row('acme/thinker-1', { pricing: { ...pricing, ...cached } })]
    const { changes } = await staff.catalog.diff.query({ models })
    const prices = changes[0]?.fields.filter(({ field }) => field.startsWith('price.'))
    expect(prices?.map(({ field }) => field)).toEqual(['price.input', 'price.output'])
  })

  it('keeps what it does not speak of: endpoints, names, prices of media', async () => {
    const speech = { ...catalogItem('speech-test'), endpoints: ['speech'], unit_pricing: { characters: '0.000015' } }
    await staff.catalog.import.mutate({ source: 'seed', models: [speech] })
    const after = await staff.catalog.diff.query({ models: [row('lab/speech-test', { name: 'Speech' })] })
    const fields = after.changes.flatMap((change) => change.fields.map(({ field }) => field))
    expect(fields).toContain('name')
    for (const kept of ['endpoints', 'lab', 'mediaUnit', 'price.characters']) expect(fields).not.toContain(kept)
  })

  it('waits with its prices until their time, and never begins in the past', async () => {
    const models = [row('lab/claude-test', { pricing: { prompt: '0.000009', completion: '0.000009' } })]
    const effectiveAt = market.plane.clock.now() + HOUR
    await staff.catalog.import.mutate({ source: 'later', models, effectiveAt })
    const { versions } = await staff.price.list.query({ model: 'claude-test' })
    expect(versions.map(({ state, source }) => [state, source])).toEqual([
      ['scheduled', 'later'],
      ['current', 'test'],
    ])
    const late = staff.catalog.import.mutate({ source: 'past', models, effectiveAt: effectiveAt - 2 * HOUR })
    expect(await trpcCodeOf(late)).toBe('invalid_request')
  })

  it('takes five thousand rows and no more', async () => {
    const models = Array.from({ length: 5_001 }, (_, index) => index)
    // Such a long query is sent as a body.
    const key = await market.managementKey('operator')
    const answer = await market.rest('POST', '/trpc/catalog.diff', { key, body: { models } })
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('"models"')])
  })
})

describe('names and prices by hand', () => {
  it('give a model a name that outlives imports, and take it away', async () => {
    await seed('named-test')
    expect(await staff.alias.put.mutate({ alias: 'My-GPT', model: 'lab/named-test' })).toMatchObject({
      model: 'named-test',
    })
    await staff.catalog.import.mutate({ source: 'again', models: [{ ...catalogItem('named-test'), name: 'Named' }] })
    const names = await staff.alias.list.query({ model: 'my-gpt' })
    expect(names).toContainEqual({ alias: 'my-gpt', model: 'named-test', isManual: true })
    expect(await trpcCodeOf(staff.alias.put.mutate({ alias: 'my-gpt', model: 'claude-test' }))).toBe('conflict')
    expect(await trpcCodeOf(staff.alias.remove.mutate({ alias: 'named-test' }))).toBe('conflict')
    await staff.alias.remove.mutate({ alias: 'my-gpt' })
    expect(await trpcCodeOf(staff.alias.list.query({ model: 'my-gpt' }))).toBe('not_found')
  })

  it('set reference prices, which are told with their source', async () => {
    await seed('priced-test')
    const pricing = { prompt: '0.000003', completion: '0.000004' }
    const put = await staff.price.put.mutate({ model: 'priced-test', pricing, source: 'vendor page' })
    expect(put.version).not.toBeNull()
    const { versions } = await staff.price.list.query({ model: 'priced-test' })
    const unitPrices = { input: '3000000', output: '4000000' }
    expect(versions[0]).toMatchObject({ state: 'current', source: 'vendor page', unitPrices })
    const again = await staff.price.put.mutate({ model: 'priced-test', pricing, source: 'vendor page' })
    expect(again.version).toBeNull()
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
  it('shows holds, gives one back, and keeps the audit of all of it', async () => {
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

  it('tells of jobs that gave up, without what they carry, and runs them again', async () => {
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

  it('shows the snapshot and publishes again what is asked', async () => {
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
  it('count at once and come back', async () => {
    const read = () => market.rest('GET', '/v1/seller/offers', { key: ada.sellerKey })
    expect((await read()).status).toBe(200)
    await staff.rateLimit.put.mutate({ name: 'read', perKey: 1 })
    await until('the limit counts', 4_000, async () => codeOf(await read()) === 'rate_limited')
    const limits = await staff.rateLimit.list.query()
    expect(limits.find(({ name }) => name === 'read')).toMatchObject({ perKey: 1, isStandard: false, plane: 'control' })
    await staff.rateLimit.put.mutate({ name: 'read', perKey: null })
    await until('the standard counts', 4_000, async () => (await read()).status === 200)
    expect(await trpcCodeOf(staff.rateLimit.put.mutate({ name: 'nothing', perKey: 1 }))).toBe('not_found')
  })

  it('reach both planes', async () => {
    await staff.rateLimit.put.mutate({ name: 'key_in_flight', perKey: 7 })
    await staff.feature.put.mutate({ name: 'paid_calls', isOn: false, reason: 'drill' })
    await staff.feature.put.mutate({ name: 'new_offers', isOn: false, reason: 'drill' })
    const limits = JSON.parse((await market.world.redis.get(cacheKeys.document('limits'))) ?? '{}').body
    expect(limits).toMatchObject({ keyInFlight: 7, switchedOff: ['new_offers', 'paid_calls'] })
    await until('no offer is taken', 4_000, async () => {
      const refused = await list().then(
        () => undefined,
        (error: unknown) => error,
      )
      return refused instanceof Error && refused.message.includes('Switched off')
    })
    await staff.feature.put.mutate({ name: 'new_offers', isOn: true, reason: 'drill over' })
    await staff.feature.put.mutate({ name: 'paid_calls', isOn: true, reason: 'drill over' })
    const paid = (await staff.feature.list.query()).find(({ name }) => name === 'paid_calls')
    expect(paid).toMatchObject({ isOn: true, reason: 'drill over' })
    // Other tests need offers on sale.
    await until('offers are taken again', 4_000, async () =>
      list().then(
        () => true,
        () => false,
      ),
    )
  })
})
