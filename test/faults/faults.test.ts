import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runRow } from './harness/row.ts'
import type { World } from './harness/world.ts'
import { startWorld } from './harness/world.ts'
import { ROWS } from './rows/index.ts'

/** A market that takes payments by wallet, and signs payouts. */
const WORLD = { hasChain: true, hasSigner: true }
let world: World

beforeAll(async () => {
  world = await startWorld(WORLD)
})

afterAll(async () => {
  await world?.remove()
})

describe('a market of real processes', () => {
  for (const row of ROWS.filter(({ isQuick }) => isQuick === true)) {
    it(`[${row.number}] ${row.title}`, async () => {
      const { wrong } = await runRow(world, row, { isQuick: true })
      // A world with a broken requirement is replaced, so that it does not affect the next row.
      if (wrong.length > 0) {
        await world.remove()
        world = await startWorld(WORLD)
      }
      expect(wrong).toEqual([])
    })
  }
})
