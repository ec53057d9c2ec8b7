import { expect, it } from 'vitest'
import { digitsOf, fixedMoney } from '#control-plane/dashboard/data/format.ts'
import { openSides } from '#control-plane/dashboard/navigation.ts'
import type { FileColumn } from '#control-plane/dashboard/ui/file.ts'
import { nextOrder, sortedRows } from '#control-plane/dashboard/ui/row-order.ts'

type Row = { readonly name: string; readonly paid: string | null }
const COLUMNS: readonly FileColumn<Row>[] = [
  { label: 'Name', text: ({ name }) => name },
  { label: 'Paid', text: ({ paid }) => paid, unit: 'microUsd' },
]
const rows = [
  { name: 'model-10', paid: '9' },
  { name: 'model-2', paid: null },
  { name: 'model-1', paid: '9007199254740993' },
  { name: 'model-3', paid: '9007199254740992' },
]
const names = (by: string, isDown: boolean) => sortedRows(rows, COLUMNS, { by, isDown }).map(({ name }) => name)

it('amounts sort exactly, names by their numbers, and rows without a value sort last in both directions', () => {
  expect(names('Paid', true)).toEqual(['model-1', 'model-3', 'model-10', 'model-2'])
  expect(names('Paid', false)).toEqual(['model-10', 'model-3', 'model-1', 'model-2'])
  expect(names('Name', false)).toEqual(['model-1', 'model-2', 'model-3', 'model-10'])
  expect(names('Nothing', true)).toEqual(rows.map(({ name }) => name))
})

it('a column head sorts up, then down, and then restores the order', () => {
  const first = nextOrder(undefined, 'Paid', true)
  const second = nextOrder(first, 'Paid', true)
  expect([first, second, nextOrder(second, 'Paid', true)]).toEqual([
    { by: 'Paid', isDown: true },
    { by: 'Paid', isDown: false },
    undefined,
  ])
  expect(nextOrder(first, 'Name', false)).toEqual({ by: 'Name', isDown: false })
})

it('amounts beside each other have the same decimals, as many as the middle amount needs', () => {
  const shown = (amounts: readonly number[]) => amounts.map((micro) => fixedMoney(micro, digitsOf(amounts) ?? 2))
  expect(shown([1_720_000, 682_860, 237_062])).toEqual(['$1.7200', '$0.6829', '$0.2371'])
  expect(shown([5_000_000, 2_499_999])).toEqual(['$5.00', '$2.50'])
  expect(shown([500_000, 250_000])).toEqual(['$0.50', '$0.25'])
  expect(shown([110, 0, -12_300])).toEqual(['$0.000110', '$0', '−$0.012300'])
  expect(shown([14_314_100, 3_077_200, 2_000_000, 40, -40])).toEqual(['$14.31', '$3.08', '$2.00', '<$0.01', '−<$0.01'])
  expect(digitsOf([undefined])).toBeUndefined()
})

it('the navigation opens the group of the screen, and other groups while their rows fit', () => {
  const sides = ['market', 'buyer', 'seller'] as const
  expect([...openSides(sides, '/seller/offers', 19)]).toEqual(['seller', 'market'])
  expect([...openSides(sides, '/models', 20)]).toEqual(['market', 'buyer'])
  expect([...openSides(sides, '/buyer', 40)]).toEqual(['buyer', 'market', 'seller'])
  expect([...openSides(['market', 'operator'], '/operator', 3)]).toEqual(['operator'])
})
