import { cacheKeys } from '#shared/contract/redis-keys.ts'
import { DocumentEnvelopeSchema } from '#shared/contract/snapshot.ts'
import type { TestMarket } from './control-plane.ts'
import { startMarket } from './control-plane.ts'
import { fourthRecord, startFourthProvider } from './fourth-provider.ts'

/** A market with a fourth provider, two people who lend its keys, and an operator. */
export async function startLendingMarket() {
  const provider = await startFourthProvider()
  const market = await startMarket()
  const ada = await market.person()
  const bob = await market.person()
  const operatorKey = await market.managementKey('operator')
  const record = fourthRecord(provider.url) as never
  await market.trpc(operatorKey).resource.put.mutate({ record, source: 'test' })
  return {
    provider,
    market,
    ada,
    bob,
    operatorKey,
    async stop() {
      provider.close()
      await market.stop()
    },
  }
}

let keys = 0
/** A key that no other offer has and that the fourth provider accepts. */
export const newFourthKey = () => `fp-good-canary-${++keys}-abcdefgh`

/** A seller's request to lend such a key. */
export const fourthLentKey = (changes: object = {}) => ({
  resource_type: 'provider-x4',
  api_key: newFourthKey(),
  discount_percent: 30,
  ack_persists_state: true,
  ack_provider_terms: true,
  ...changes,
})

/** The body of a document in the form that the data plane reads. */
export async function publishedBody({ world }: TestMarket, name: string): Promise<unknown> {
  const text = await world.redis.get(cacheKeys.document(name))
  return DocumentEnvelopeSchema.parse(JSON.parse(text ?? '{}')).body
}
