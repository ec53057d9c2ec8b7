import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CreditHold } from '#data-plane/payment.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { GateWorld, Node } from '#test/support/books/gate.ts'
import { eventText, figures, ids, reserveRequest, startGateWorld, untilOpen } from '#test/support/books/gate.ts'

let world: GateWorld
let nodes: readonly Node[]

beforeAll(async () => {
  world = await startGateWorld()
  nodes = [await world.node('n1'), await world.node('n2')]
  for (const node of nodes) await untilOpen(node)
})
afterAll(() => world.stop())

/** A call: the wanted amount, the least amount, the used part, and its end. */
const call = fc.record({
  want: fc.integer({ min: 1, max: 200 }),
  leastPart: fc.double({ min: 0, max: 1, noNaN: true }),
  usedPart: fc.double({ min: 0, max: 1, noNaN: true }),
  isCharged: fc.boolean(),
})
type Call = typeof call extends fc.Arbitrary<infer Value> ? Value : never
const calls = fc.array(call, { minLength: 200, maxLength: 400 })

type Ended = { readonly hold: CreditHold; readonly used: number }

/** Makes one call at one of the two processes. Undefined when it was refused for lack of money. */
async function make(index: number, account: AccountId, one: Call, caps: object): Promise<Ended | undefined> {
  const node = nodes[index % nodes.length]
  if (node === undefined) return undefined
  const least = Math.floor(one.want * one.leastPart)
  try {
    const hold = await node.funds.reserve(reserveRequest(account, { want: one.want, min: least, ...caps }))
    expect(Number(hold.grantedMicro)).toBeGreaterThanOrEqual(least)
    expect(Number(hold.grantedMicro)).toBeLessThanOrEqual(one.want)
    const used = one.isCharged ? Math.floor(Number(hold.grantedMicro) * one.usedPart) : 0
    if (one.isCharged) await node.funds.capture(hold, microUsd(used), eventText(hold, used, node.id))
    else await node.funds.release(hold, 'x', '{}')
    return { hold, used }
  } catch (error) {
    if (error instanceof AppError && ['insufficient_balance', 'key_cap_reached'].includes(error.code)) return undefined
    throw error
  }
}

describe('two processes on one balance', () => {
  it('never grant more than it covers, however many calls are made at once [I5]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 10_000 }), calls, async (balance, inputs) => {
        const account = await world.account(balance)
        const ends = await Promise.all(inputs.map((input, index) => make(index, account, input, {})))
        const used = ends.reduce((sum, end) => sum + (end?.used ?? 0), 0)
        expect(used).toBeLessThanOrEqual(balance)
        expect(await figures(world.gate, account)).toEqual({ p: balance, h: 0, u: used, free: balance - used })
      }),
      { numRuns: 10, endOnFailure: true },
    )
  })

  it('never let a key exceed its cap [I5]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5_000 }), calls, async (daily, inputs) => {
        const account = await world.account(1_000_000)
        const keyId = ids.make('key')
        const ends = await Promise.all(inputs.map((input, index) => make(index, account, input, { keyId, daily })))
        const used = ends.reduce((sum, end) => sum + (end?.used ?? 0), 0)
        expect(used).toBeLessThanOrEqual(daily)
        // The rest of the cap is exactly the unused amount.
        const [node] = nodes
        if (used === daily || node === undefined) return
        const rest = await node.funds.reserve(reserveRequest(account, { want: 1_000_000, min: 1, keyId, daily }))
        expect(Number(rest.grantedMicro)).toBe(daily - used)
        await node.funds.release(rest, 'x', '{}')
      }),
      { numRuns: 6, endOnFailure: true },
    )
  })

  it('serve exactly as many calls as the balance covers where every call costs the same', async () => {
    const [price, covered] = [70, 41]
    const account = await world.account(price * covered + price - 1)
    const input = { want: price, leastPart: 1, usedPart: 1, isCharged: true }
    const ends = await Promise.all(Array.from({ length: 300 }, (_, index) => make(index, account, input, {})))
    expect(ends.filter((end) => end !== undefined)).toHaveLength(covered)
    expect(await figures(world.gate, account)).toMatchObject({ h: 0, u: price * covered, free: price - 1 })
  })
})
