import { afterAll, beforeAll } from 'vitest'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { toolLoopSuite } from '#test/support/translation/tool-loop-suite.ts'

/** The seller of Gemini’s own protocol. Its model refuses a second turn without the signature of the first call. */
const SELLER = 'sandbox-e'
const MODEL = 'gemini-3-pro-preview'

let network: Network

beforeAll(async () => {
  network = await sharedNetwork()
})
afterAll(() => network?.remove())

toolLoopSuite({
  title: 'a seller of Gemini’s own protocol',
  network: () => network,
  seller: SELLER,
  model: MODEL,
  discount: 5,
  countsThoughts: true,
})
