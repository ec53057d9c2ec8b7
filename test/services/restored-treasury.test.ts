import { describe, expect, it } from 'vitest'
import { playRestores } from '#test/support/books/restored-treasury.ts'

/** Seeds of a run, and the operations of each. `RESTORE_SEEDS=1-300` plays others. */
const [first = 1, last = 4] = (process.env['RESTORE_SEEDS'] ?? '1-4').split('-').map(Number)
const OPERATIONS = 60

describe('a treasury whose ledger is restored from backups', () => {
  const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  it.each(seeds)('pays no seller twice and loses nothing in the operations of seed %i', async (seed) => {
    expect(await playRestores(seed, OPERATIONS)).toEqual([])
  })
})
