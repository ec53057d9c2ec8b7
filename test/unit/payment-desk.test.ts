import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { openPaymentDesk } from '#data-plane/store/payment-desk.ts'
import { createLogger } from '#shared/logger.ts'
import { Secret } from '#shared/secret.ts'
import { until } from '#test/support/run/until.ts'
import { createManualTime } from './fixtures/manual-time.ts'

const WAIT_MS = 20_000
const TERMS = {
  isOpen: true,
  closedFor: null,
  network: 'eip155:8453',
  asset: `0x${'a'.repeat(40)}`,
  assetName: 'USD Coin',
  assetVersion: '2',
  payTo: `0x${'b'.repeat(40)}`,
  facilitator: null,
  switchedOff: [],
}

let server: Server | undefined
let close = () => {}
afterEach(() => {
  close()
  server?.closeAllConnections()
  server?.close()
})

/** A desk whose control plane answers with `told.terms`, or not at all. */
async function open() {
  const told: { terms: object | undefined; asked: number } = { terms: TERMS, asked: 0 }
  const made = createServer((_request, response) => {
    told.asked++
    if (told.terms === undefined) response.writeHead(503).end()
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(told.terms))
  })
  server = made
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  const { port } = made.address() as AddressInfo
  const { time, pass, freeze } = createManualTime()
  const log = createLogger('data-plane', 'silent')
  const desk = openPaymentDesk({ url: `http://127.0.0.1:${port}`, token: new Secret('t'), clock: time, log })
  close = () => desk.close()
  await desk.start()
  return { desk, told, pass, freeze }
}

it('terms outlive a pause of the process, and are known anew after it', async () => {
  const { desk, told, freeze } = await open()
  expect(desk.terms()).toEqual(TERMS)
  await freeze(50_000)
  expect(desk.terms()).toEqual(TERMS)
  await until('the terms are read anew', WAIT_MS, () => told.asked === 2)
})

it('terms are dropped a minute after the control plane fell silent, and are back with its next answer', async () => {
  const { desk, told, pass } = await open()
  told.terms = undefined
  let seconds = 0
  await until('the terms are dropped', WAIT_MS, async () => {
    await pass(2_000)
    seconds += 2
    return desk.terms() === undefined
  })
  expect(seconds).toBe(60)
  told.terms = TERMS
  await until('the terms are back', WAIT_MS, async () => {
    await pass(2_000)
    return desk.terms() !== undefined
  })
})

it('closed payments are no terms at once', async () => {
  const { desk, told, pass } = await open()
  told.terms = { ...TERMS, isOpen: false, closedFor: 'no_gas_or_kinds' }
  await pass(2_000)
  await until('the terms are dropped', WAIT_MS, () => desk.terms() === undefined)
})
