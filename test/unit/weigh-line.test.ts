import { describe, expect, it } from 'vitest'
import { owedOf, weighLine } from '#control-plane/services/allowances/weigh-line.ts'

const NOW = 1_000_000
const SETTINGS = { lineMicro: 1_000n, batchMicro: 500n, batchMs: 300 }
const RICH = { balance: 10_000n, allowance: 20_000n }
type Line = Parameters<typeof weighLine>[0]
const LINE: Line = {
  state: 'open',
  reason: null,
  posted: 1_000n,
  advanced: 1_000n,
  drawing: 0n,
  owedSince: null,
  retryAt: null,
}
const weigh = (line: Partial<Line>, reading: Parameters<typeof weighLine>[1]['reading'] = RICH, room = 1_000_000n) =>
  weighLine({ ...LINE, ...line }, { reading, settings: SETTINGS, room, now: NOW })

describe('the advanced credit', () => {
  it.each([
    [
      'nothing was advanced, and the wallet has enough',
      { posted: 0n, advanced: 0n },
      RICH,
      { advance: 1_000n, recall: 0n },
    ],
    ['the balance binds', { posted: 0n, advanced: 0n }, { balance: 300n, allowance: 9_000n }, { advance: 300n }],
    ['the allowance binds', { posted: 0n, advanced: 0n }, { balance: 9_000n, allowance: 400n }, { advance: 400n }],
    ['the wallet lost money', {}, { balance: 700n, allowance: 9_000n }, { advance: 0n, recall: 300n }],
    ['the line is closed', { state: 'closed' }, RICH, { advance: 0n, recall: 1_000n, draw: 0n }],
    [
      'a draw is under way and has left the wallet',
      { posted: 400n, drawing: 600n },
      { balance: 400n, allowance: 400n },
      { advance: 0n, recall: 0n },
    ],
    [
      'a draw is under way and the rest is gone',
      { posted: 400n, drawing: 600n },
      { balance: 100n, allowance: 400n },
      { recall: 300n },
    ],
  ] as const)('when %s', (_case, line, reading, verdict) => {
    expect(weigh(line, reading)).toMatchObject(verdict)
  })

  it('is recalled when another treasury has taken over', () => {
    const ground = { reading: undefined, settings: SETTINGS, room: 0n, now: NOW }
    expect(weighLine(LINE, ground)).toMatchObject({ state: 'stopped', reason: 'treasury_changed', recall: 1_000n })
  })

  it('stays below the limit of all accounts together', () => {
    expect(weigh({ posted: 0n, advanced: 0n }, RICH, 250n)).toMatchObject({ advance: 250n })
    expect(weigh({ posted: 0n, advanced: 0n }, RICH, -5n)).toMatchObject({ advance: 0n, recall: 0n })
  })
})

describe('the drawn amount', () => {
  it.each([
    ['enough is owed', { posted: 500n }, 500n],
    ['a little is owed for long', { posted: 999n, owedSince: new Date(NOW - 300) }, 1n],
    ['a little is owed', { posted: 999n, owedSince: new Date(NOW - 299) }, 0n],
    ['nothing is owed', { posted: 1_200n }, 0n],
    ['another draw is under way', { posted: 100n, drawing: 500n }, 0n],
    ['the next try is not due', { posted: 100n, retryAt: new Date(NOW + 1) }, 0n],
    ['the line is closed', { state: 'closed', posted: 999n }, 1n],
  ] as const)('when %s', (_case, line, draw) => {
    expect(weigh(line)).toMatchObject({ draw, isShort: false })
  })

  it('is the money of the wallet, and the line stops with the reason: balance or allowance', () => {
    const owing = { posted: 300n }
    expect(owedOf({ ...LINE, ...owing })).toBe(700n)
    expect(weigh(owing, { balance: 600n, allowance: 900n })).toMatchObject({
      state: 'stopped',
      reason: 'insufficient_balance',
      draw: 600n,
      isShort: true,
      recall: 1_000n,
    })
    expect(weigh(owing, { balance: 900n, allowance: 0n })).toMatchObject({
      state: 'stopped',
      reason: 'insufficient_allowance',
      draw: 0n,
      isShort: true,
    })
  })
})

describe('a stopped line', () => {
  const stopped = { state: 'stopped', reason: 'insufficient_balance' } as const

  it('opens once nothing is owed and the wallet has money', () => {
    expect(weigh({ ...stopped, posted: 0n, advanced: 0n })).toMatchObject({
      state: 'open',
      reason: null,
      advance: 1_000n,
    })
    expect(weigh({ ...stopped, posted: 999n })).toMatchObject({ state: 'stopped', advance: 0n, draw: 1n })
    expect(weigh({ ...stopped, drawing: 5n })).toMatchObject({ state: 'stopped' })
    expect(weigh({ ...stopped, posted: 0n, advanced: 0n }, { balance: 0n, allowance: 5n })).toMatchObject({
      state: 'stopped',
    })
  })
})
