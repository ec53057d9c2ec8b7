import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { invoke } from '#control-plane/operation/invoke.ts'
import { updateOffer } from '#control-plane/services/offers/change.ts'
import { listConfigs } from '#control-plane/services/offers/configs.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer, newProviderKey } from '#test/support/doors/offers.ts'

let market: TestMarket

beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market?.stop())

let addresses = 0
const newAddress = () => `0x${(++addresses).toString(16).padStart(40, 'a')}`

/** A user whose webhook receives news of new payees. */
async function watched(): Promise<Person> {
  const person = await market.person()
  const body = { url: `${market.provider.url}/hook`, events: ['payout.address_changed'] }
  expect((await market.rest('POST', '/v1/buyer/webhooks', { key: person.buyerKey, body })).status).toBe(201)
  return person
}

const Told = z.object({ data: z.object({ from: z.string().nullable(), to: z.string().nullable() }) })

/** The addresses of which a person was notified. */
async function toldOf({ buyer }: Person): Promise<(string | null)[]> {
  const rows = await market.plane.db
    .selectFrom('webhook_delivery as d')
    .innerJoin('webhook as w', 'w.id', 'd.webhook_id')
    .select('d.body')
    .where('w.account', '=', buyer.account)
    .execute()
  return rows.map(({ body }) => Told.parse(JSON.parse(body)).data.to)
}

/** The times since which the addresses of a seller's offers cool, by address. */
async function coolingOf({ seller }: Person): Promise<ReadonlyMap<string | null, number | undefined>> {
  const rows = await market.plane.db
    .selectFrom('offer')
    .select(['payout_address', 'payout_address_since'])
    .where('seller_account', '=', seller.account)
    .execute()
  return new Map(rows.map((row) => [row.payout_address, row.payout_address_since?.getTime()]))
}

describe('a payee that is new to an account', () => {
  it('cools and is announced, whatever operation sets it', async () => {
    const ada = await watched()
    const [alone, byFingerprint, inBulk, changed] = [newAddress(), newAddress(), newAddress(), newAddress()]
    const { id } = await listOffer(market, ada.seller, { payoutAddress: alone })
    const { configs } = await invoke(market.plane, ada.seller, listConfigs, {})
    const input = { model: 'claude-test', apiKey: undefined, reuseKeyFingerprint: configs[0]?.keyFingerprint }
    await listOffer(market, ada.seller, { ...input, payoutAddress: byFingerprint })
    const bulk = await market.rest('POST', '/v1/seller/offers/bulk', {
      key: ada.sellerKey,
      body: {
        api_key: newProviderKey(),
        base_url: market.provider.url,
        payout_address: inBulk,
        offers: ['gpt-test', 'claude-test'].map((model) => ({ model, discount: 10 })),
      },
    })
    expect(bulk.text.match(/"created"/g)).toHaveLength(2)
    await invoke(market.plane, ada.seller, updateOffer, { id, payoutAddress: changed })
    const cooling = await coolingOf(ada)
    expect([byFingerprint, inBulk, changed].filter((address) => cooling.get(address) === undefined)).toEqual([])
    // Two rows of the bulk request have one new payee.
    const told = await toldOf(ada)
    expect(told).toHaveLength(4)
    expect(new Set(told)).toEqual(new Set([alone, byFingerprint, inBulk, changed]))
  })

  it('is neither the wallet of the account nor an address of its other offers', async () => {
    const ada = await watched()
    const address = newAddress()
    await listOffer(market, ada.seller, { payoutAddress: ada.wallet })
    await listOffer(market, ada.seller, { payoutAddress: address })
    const since = (await coolingOf(ada)).get(address)
    market.advance(60_000)
    await listOffer(market, ada.seller, { payoutAddress: address })
    const cooling = await coolingOf(ada)
    expect([cooling.get(ada.wallet), cooling.get(address)]).toEqual([undefined, since])
    expect(since).toEqual(expect.any(Number))
    expect(await toldOf(ada)).toEqual([address])
    const bob = await watched()
    await listOffer(market, bob.seller, { payoutAddress: address })
    expect(await toldOf(bob)).toEqual([address])
  })
})
