import { describe, expect, it } from 'vitest'
import { csvLine } from '#control-plane/services/exports/csv.ts'
import {
  EXPORT_LIFETIME_MS,
  EXPORT_PATH,
  makeExportLink,
  openExportLink,
} from '#control-plane/services/exports/export-link.ts'
import { systemClock } from '#shared/clock.ts'
import { Secret } from '#shared/secret.ts'

function world(secret = 'for tests only, 32 characters long') {
  let at = 1_800_000_000_000
  const settings = { linkSecret: new Secret(secret), apiBaseUrl: 'https://api.example' }
  const ctx = { settings, clock: { ...systemClock, now: () => at } }
  return { ctx: ctx as never, advance: (ms: number) => (at += ms) }
}
const grant = { kind: 'seller-usage', query: { account: 'acc_1', from: 1 } }
const PREFIX = `https://api.example${EXPORT_PATH}/`
function tokenOf(link: string): string {
  expect(link.startsWith(PREFIX)).toBe(true)
  return link.slice(PREFIX.length)
}

describe('a signed link', () => {
  it('opens its own export for five minutes', () => {
    const { ctx, advance } = world()
    const token = tokenOf(makeExportLink(ctx, grant).url)
    expect(openExportLink(ctx, token)).toEqual(grant)
    advance(EXPORT_LIFETIME_MS - 1)
    expect(openExportLink(ctx, token)).toEqual(grant)
    advance(1)
    expect(() => openExportLink(ctx, token)).toThrow(/expired/)
  })

  it('opens nothing with one character changed, with another secret, or cut in half', () => {
    const { ctx } = world()
    const token = tokenOf(makeExportLink(ctx, grant).url)
    for (let at = 0; at < token.length; at++) {
      const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
      expect(() => openExportLink(ctx, changed)).toThrow(/no such export/)
    }
    for (const bad of ['', '.', '..', token.split('.')[0] ?? '', `${token}.x`, `${token}=`, `x${token}`]) {
      expect(() => openExportLink(ctx, bad)).toThrow(/no such export/)
    }
    expect(() => openExportLink(world('another secret, 32 characters too').ctx, token)).toThrow(/no such export/)
  })
})

describe('a CSV line', () => {
  it('quotes cells where CSV needs quotes, and disarms formulas', () => {
    expect(csvLine(['a', 'b c', 1, 2n, null, ''])).toBe('a,b c,1,2,,\r\n')
    expect(csvLine(['a,b', 'say "hi"', 'two\nlines', ' lead'])).toBe('"a,b","say ""hi""","two\nlines", lead\r\n')
    expect(csvLine(['=1+1', '+1', '-1', '@x', '\tx', -1])).toBe("'=1+1,'+1,'-1,'@x,'\tx,-1\r\n")
  })
})
