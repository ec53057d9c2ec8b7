import { expect, it } from 'vitest'
import type { RawRequest } from '#data-plane/call.ts'
import type { PaymentDesk, Quote } from '#data-plane/payment.ts'
import type { CheckedPayment } from '#data-plane/rails/claim.ts'
import { claimHold } from '#data-plane/rails/claim.ts'
import { microUsd } from '#shared/money.ts'

/** Claims a payment whose payload has a number of characters. Returns how often the desk was called. */
async function claim(chars: number): Promise<{ asked: number; record: unknown }> {
  let asked = 0
  const desk = {
    claim: async () => {
      asked += 1
      return { state: 'claimed', account: 'acc_buyer', wallet: `0x${'1'.repeat(40)}` }
    },
  } as unknown as PaymentDesk
  const paid = {
    rail: 'x402-upto',
    amountMicro: microUsd(20_000),
    network: 'eip155:8453',
    wallet: `0x${'1'.repeat(40)}`,
    payload: { text: 'x'.repeat(chars) },
    requirement: { scheme: 'upto' },
    proof: { digest: 'ab'.repeat(32) },
  } as unknown as CheckedPayment
  const quote = { rid: '01HZX0000000000000000000AA', ttlMs: 1_000 } as unknown as Quote
  const { record } = await claimHold(desk, paid, quote, { receivedAt: 0 } as unknown as RawRequest)
  return { asked, record }
}

it('a payment that is too large for the journal is refused before its claim, and every other payment is kept', async () => {
  expect(await claim(14_000)).toMatchObject({ asked: 1, record: { claim: { payload: { text: expect.any(String) } } } })
  await expect(claim(15_000)).rejects.toMatchObject({
    code: 'payment_required',
    detail: { payment_error: 'payment_too_long' },
  })
})
