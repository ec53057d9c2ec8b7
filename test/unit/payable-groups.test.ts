import { describe, expect, it } from 'vitest'
import { groupsOf } from '#control-plane/services/payouts/payable-groups.ts'
import { DAY, HOUR } from '#shared/clock.ts'

const NOW = Date.UTC(2026, 0, 2)
const WALLET = `0x${'1'.repeat(40)}`
const standing = {
  balance: 300n,
  wallet: WALLET,
  walletSince: null,
  earnings: [
    { offer: 'ofr_own', recipient: null, recipientSince: null, earned: 100n, left: 100n, recent: 0n },
    { offer: 'ofr_named', recipient: `0x${'2'.repeat(40)}`, recipientSince: null, earned: 50n, left: 50n, recent: 0n },
  ],
  recent: 0n,
  now: NOW,
  coolingMs: DAY,
} as const

const told = (changes: object) =>
  groupsOf({ ...standing, ...changes }).map(({ recipient, payable, coolsUntil }) => [recipient, payable, coolsUntil])

describe('the amounts that a seller can be paid', () => {
  it('are payable at once to the wallet that opened the account', () => {
    expect(told({})).toEqual([
      [WALLET, 250n, null],
      [`0x${'2'.repeat(40)}`, 50n, null],
    ])
  })

  it('wait for a wallet that was linked, as for any new address', () => {
    const since = new Date(NOW - HOUR)
    expect(told({ walletSince: since })).toEqual([
      [WALLET, 0n, since.getTime() + DAY],
      [`0x${'2'.repeat(40)}`, 50n, null],
    ])
    expect(told({ walletSince: new Date(NOW - DAY) })[0]).toEqual([WALLET, 250n, null])
  })

  it('wait without end for an account without a wallet', () => {
    expect(told({ wallet: null })[0]).toEqual([null, 250n, null])
  })
})
