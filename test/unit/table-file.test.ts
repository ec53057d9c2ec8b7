import { expect, it } from 'vitest'
import { csvOf } from '#control-plane/dashboard/ui/csv.ts'

type Row = { readonly at: number; readonly name: string; readonly costMicro: number; readonly paidUsdc: string | null }

it('the file of a table has ISO times, amounts with their unit, and no formulas', () => {
  const rows: readonly Row[] = [
    { at: 1_795_733_842_668, name: '=SUM(A1)', costMicro: 49, paidUsdc: '14962000' },
    { at: 0, name: 'a, b', costMicro: -1_500_000, paidUsdc: null },
  ]
  const text = csvOf<Row>(
    [
      { label: 'When', text: ({ at }) => at, unit: 'time' },
      { label: 'Name', text: ({ name }) => name },
      { label: 'Cost', text: ({ costMicro }) => costMicro, unit: 'microUsd' },
      { label: 'Paid', text: ({ paidUsdc }) => paidUsdc, unit: 'microUsdc' },
      { label: 'Change' },
    ],
    rows,
  )
  expect(text.split('\r\n')).toEqual([
    'When (UTC),Name,Cost (USD),Paid (USDC)',
    "2026-11-26T22:57:22.668Z,'=SUM(A1),0.000049,14.962000",
    '1970-01-01T00:00:00.000Z,"a, b",-1.500000,',
    '',
  ])
})
