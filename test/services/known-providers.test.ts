import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invoke } from '#control-plane/operation/invoke.ts'
import { updateBuyerKey } from '#control-plane/services/keys/key-limits.ts'
import { createBuyerKey } from '#control-plane/services/keys/keys.ts'
import { putPreferences } from '#control-plane/services/routing/buyer-policy.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'

let market: TestMarket

beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market?.stop())

const message = 'No provider has the id tset. Did you mean test?'
const refused = { code: 'invalid_request', message, param: 'providersBlocked', detail: { suggestion: 'test' } }

describe('the blocked providers of a stored rule', () => {
  it('must exist, or a key is refused with the nearest id, and providers that left the market stay in the rule', async () => {
    const { buyer } = await market.person()
    const make = (providersBlocked: string[]) =>
      invoke(market.plane, buyer, createBuyerKey, { label: 'app', providersBlocked })
    await expect(make(['test', 'tset'])).rejects.toMatchObject(refused)
    // A name or a host means a provider as well, as in calls.
    const { id } = await make(['TEST', 'Public'])
    const change = (providersBlocked: string[]) => invoke(market.plane, buyer, updateBuyerKey, { id, providersBlocked })
    await expect(change(['tset'])).rejects.toMatchObject(refused)
    await sql`update api_key set providers_blocked = '{gone}' where id = ${id}`.execute(market.plane.db)
    expect(await change(['gone', 'test'])).toMatchObject({ terms: { providersBlocked: ['gone', 'test'] } })
    await expect(change(['gone', 'nothing-like-it'])).rejects.toMatchObject({
      message: 'No provider has the id nothing-like-it.',
      detail: { suggestion: null },
    })
  })

  it('must exist in the preferences of an account', async () => {
    const { buyer } = await market.person()
    const put = (providersBlocked: string[]) => invoke(market.plane, buyer, putPreferences, { providersBlocked })
    await expect(put(['tset'])).rejects.toMatchObject(refused)
    expect(await put(['test'])).toMatchObject({ providersBlocked: ['test'] })
    await sql`update buyer_preference set providers_blocked = '{gone}' where account = ${buyer.account}`.execute(
      market.plane.db,
    )
    expect(await put(['gone'])).toMatchObject({ providersBlocked: ['gone'] })
  })
})
