import { expect, it } from 'vitest'
import { foldEntries } from '#control-plane/dashboard/operator/audit/folded-entries.ts'

const entry = (id: string, second: number, operation = 'offer.bulk-create', actor = 'usr_a') => ({
  id,
  at: second * 1_000,
  operation,
  actor,
})

it('equal changes of one actor in a row are one row, and every entry is in some row', () => {
  const entries = [
    entry('f', 300),
    entry('e', 240),
    entry('d', 179),
    entry('c', 178, 'offer.bulk-create', 'usr_b'),
    entry('b', 177, 'offer.update', 'usr_b'),
    entry('a', 176, 'offer.bulk-create', 'usr_b'),
  ]
  const rows = foldEntries(entries)
  expect(rows.map(({ newest, more }) => [newest.id, ...more.map(({ id }) => id)])).toEqual([
    ['f', 'e'],
    ['d'],
    ['c'],
    ['b'],
    ['a'],
  ])
  expect(rows.flatMap(({ newest, more }) => [newest, ...more])).toEqual(entries)
})
