import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ResourceInput } from '#shared/catalog/resources.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import { DOCUMENT_SCHEMAS, DocumentEnvelopeSchema } from '#shared/contract/snapshot.ts'
import type { Person, TestMarket } from '#test/support/control-plane.ts'
import { startMarket, trpcCodeOf } from '#test/support/control-plane.ts'
import { fourthRecord } from '#test/support/fourth-provider.ts'

const URL_OF_FOURTH = 'http://127.0.0.1:9'
let market: TestMarket
let ada: Person
let operatorKey: string

const fourth = (changes: Partial<ResourceInput> = {}) => fourthRecord(URL_OF_FOURTH, changes)
const staff = () => market.trpc(operatorKey)
const put = (record: ResourceInput, more: object = {}) =>
  staff().resource.put.mutate({ record: record as never, source: 'test', ...more })

async function documentOf(name: string) {
  const text = await market.world.redis.get(cacheKeys.document(name))
  return DocumentEnvelopeSchema.parse(JSON.parse(text ?? '{}')).body
}

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  operatorKey = await market.managementKey('operator')
  await put(fourth())
})
afterAll(() => market.stop())

describe('an operator', () => {
  it('adds a provider and changes it without a release: previewed, in versions, audited, and in the snapshot', async () => {
    const changed = fourth({
      goods: [{ id: 'draw', prices: { images: '0.03' } }],
      hosts: [{ role: 'api', baseUrl: URL_OF_FOURTH.replace('127.0.0.1', 'localhost') }],
    })
    const preview = await staff().resource.preview.query({ record: changed as never })
    expect(preview).toMatchObject({ version: 1, newHosts: [expect.stringContaining('localhost')] })
    expect(preview.changes.map(({ place }) => place)).toEqual(['goods.draw.prices.images', 'hosts.api.baseUrl'])
    const other = fourth({ id: 'provider-x5', goods: [{ id: 'draw', prices: { images: '0.05' } }] })
    expect(await put(other)).toEqual({ id: 'provider-x5', version: 1, isChanged: true })
    expect(await put(other)).toEqual({ id: 'provider-x5', version: 1, isChanged: false })
    const dearer = { ...other, goods: [{ id: 'draw', prices: { images: '0.06' } }] }
    expect(await put(dearer, { version: 1 })).toMatchObject({ version: 2 })
    expect(await trpcCodeOf(put(other, { version: 1 }))).toBe('conflict')
    expect(await trpcCodeOf(put({ ...other, kind: 'family' }))).toBe('conflict')
    const history = await staff().resource.history.query({ id: 'provider-x5' })
    expect(history.map(({ version, changes }) => [version, changes.length > 0])).toEqual([
      [2, true],
      [1, true],
    ])
    expect(history[0]?.changes).toEqual([{ place: 'goods.draw.prices.images', before: '"0.05"', after: '"0.06"' }])
    const { resources } = DOCUMENT_SCHEMAS.resources.parse(await documentOf('resources'))
    expect(resources.map(({ record, version }) => [record.id, version])).toEqual([
      ['provider-x4', 1],
      ['provider-x5', 2],
    ])
    const audit = await staff().auditLog.search.query({ operation: 'resource.put', subject: 'provider-x5' })
    expect(audit.items).toHaveLength(3)
  })

  it('is refused a record that is none, hosts that may not be dialled, and is the only one who may', async () => {
    const broken = fourth({ routes: [{ ...fourth().routes[0]!, quote: { images: 'body.n +' } }] })
    expect(await trpcCodeOf(put(broken))).toBe('invalid_request')
    for (const baseUrl of ['https://169.254.169.254', 'http://example.com', 'https://example.com:8443']) {
      expect([baseUrl, await trpcCodeOf(put(fourth({ hosts: [{ role: 'api', baseUrl }] })))]).toEqual([
        baseUrl,
        'invalid_base_url',
      ])
    }
    const asSeller = market.trpc(ada.sellerKey).resource.put.mutate({ record: fourth() as never, source: 'x' })
    expect(await trpcCodeOf(asSeller)).toBe('wrong_key_type')
    const organization = await market.managementKey('org')
    expect(await trpcCodeOf(market.trpc(organization).resource.list.query())).toBe('forbidden')
  })
})
