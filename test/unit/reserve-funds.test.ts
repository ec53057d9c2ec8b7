import { expect, it } from 'vitest'
import type { Hold } from '#data-plane/payment.ts'
import type { CallPlane } from '#data-plane/pipeline/call-plane.ts'
import { reserveFunds } from '#data-plane/pipeline/reserve-funds.ts'
import { walletPayer } from '#data-plane/rails/wallet-payer.ts'
import { microUsd } from '#shared/money.ts'
import { createRefusedWork, WORK_UNITS } from '#shared/refused-work.ts'
import { buildRaw } from '#test/support/bytes/build-market.ts'

const AT_ONCE = 10

it('payments in verification have a maximum by address, and valid payments do not count', async () => {
  const refusedWork = createRefusedWork({
    clock: { now: () => 0 },
    perMinute: AT_ONCE * WORK_UNITS.payment,
    resetUnitMs: 1,
  })
  const plane = { refusedWork } as unknown as CallPlane
  const raw = buildRaw(Buffer.from('{}'), {})
  const quote = { rid: raw.requestId, wantMicro: microUsd(0), minMicro: microUsd(0), ttlMs: 1 }
  let asked = 0
  let answer = (_hold: Hold): void => undefined
  const checked = new Promise<Hold>((resolve) => {
    answer = resolve
  })
  const payment = {
    reserve: () => {
      asked += 1
      return checked
    },
  }
  const reserve = () => reserveFunds(plane, payment, { payer: walletPayer(undefined), raw }, quote)
  const waiting = Array.from({ length: AT_ONCE }, reserve)
  await expect(reserve()).rejects.toMatchObject({ code: 'rate_limited' })
  expect(asked).toBe(AT_ONCE)
  const hold: Hold = {
    rid: raw.requestId,
    rail: 'x402-exact',
    account: 'acc_1',
    keyId: null,
    wallet: null,
    record: null,
    grantedMicro: microUsd(0),
  }
  answer(hold)
  await Promise.all(waiting)
  // All payments were valid, so the address may continue.
  for (let each = 0; each < AT_ONCE; each++) expect(await reserve()).toBe(hold)
})
