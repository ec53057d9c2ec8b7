import { expect, it } from 'vitest'
import { chainOf } from '#test/support/chain/chain.ts'
import { payMixed } from '#test/support/market/mixed-payments.ts'
import { sharedNetwork } from '#test/support/market/network.ts'

const CALLS = 60

it('chain, ledger, look-ups and credit agree to the micro-USD after mixed payments of many wallets', async () => {
  const stage = { chain: await chainOf(), network: await sharedNetwork() }
  const { answers, payments, movedMicro, chargedMicro, creditMicro, differences } = await payMixed(stage, CALLS)
  expect(differences).toEqual([])
  expect(movedMicro).toBe(chargedMicro + creditMicro)
  // Each kind of call occurred.
  expect(answers[200]).toBeGreaterThan(CALLS / 2)
  expect(answers[402]).toBeGreaterThan(0)
  expect(payments['confirmed']).toBeGreaterThan(CALLS / 2)
  expect(creditMicro).toBeGreaterThan(0n)
})
