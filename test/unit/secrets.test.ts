import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCredentialOpener } from '#data-plane/upstream/credentials.ts'
import { hashApiKey, isWellFormedKey, keyTypeOf, newApiKey } from '#shared/api-key.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { AppError, describeCause, toAppError } from '#shared/errors.ts'
import { fingerprintCredential, openCredential, parseKeyRing, sealCredential } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'
import { createManualTime } from './fixtures/manual-time.ts'

const ring = parseKeyRing(`k2:${Buffer.alloc(32, 2).toString('base64')},k1:${Buffer.alloc(32, 1).toString('base64')}`)
const oldRing = parseKeyRing(`k1:${Buffer.alloc(32, 1).toString('base64')}`)
const binding = { id: 'crd_1', tenant: 'acc_1', host: 'api.example.com', purpose: 'offer' } as const
const canary = 'sk-canary-0123456789abcdef'

describe('a secret', () => {
  it('has no printable form', () => {
    const secret = new Secret(canary)
    for (const text of [
      String(secret),
      `${secret}`,
      JSON.stringify({ secret }),
      inspect(secret),
      inspect({ secret }, { showHidden: true }),
    ]) {
      expect(text).not.toContain(canary)
    }
    expect(secret.reveal()).toBe(canary)
  })
})

describe('API keys', () => {
  it('are valid for their own type, and any single changed character makes them invalid', () => {
    for (const type of ['buyer', 'seller', 'management'] as const) {
      const { secret, keyPrefix } = newApiKey(type)
      const key = secret.reveal()
      expect(keyTypeOf(key)).toBe(type)
      expect(isWellFormedKey(key)).toBe(true)
      expect(key.startsWith(keyPrefix)).toBe(true)
      for (let index = 0; index < key.length; index++) {
        const other = key[index] === 'a' ? 'b' : 'a'
        expect(isWellFormedKey(key.slice(0, index) + other + key.slice(index + 1))).toBe(false)
      }
    }
  })
  it('are refused when they are malformed', () => {
    fc.assert(fc.property(fc.string(), (text) => !isWellFormedKey(text)))
    const key = newApiKey('buyer').secret.reveal()
    expect(isWellFormedKey(`${key}\n`)).toBe(false)
    expect(isWellFormedKey(`mkt_seller_${key.slice(4)}`)).toBe(false)
  })
  it('are stored under a peppered hash', () => {
    expect(hashApiKey('inf_x', new Secret('p1'))).not.toBe(hashApiKey('inf_x', new Secret('p2')))
    expect(hashApiKey('inf_x', new Secret('p1'))).toMatch(/^[0-9a-f]{64}$/)
  })
})

describe('sealed credentials', () => {
  it('can be opened with their key, also after the key ring was rotated', () => {
    const sealed = sealCredential(oldRing, binding, new Secret(canary))
    expect(openCredential(ring, sealed).reveal()).toBe(canary)
    expect(sealCredential(ring, binding, new Secret(canary)).ringKeyId).toBe('k2')
    expect(JSON.stringify(sealed)).not.toContain('canary')
  })
  it('cannot be opened for another tenant, host, id or purpose, with a changed byte, or without the ring key', () => {
    const sealed = sealCredential(ring, binding, new Secret(canary))
    for (const edit of [
      { tenant: 'acc_2' },
      { host: 'api.evil.example' },
      { id: 'crd_2' },
      { purpose: 'resource' as const },
      { ciphertext: `A${sealed.ciphertext.slice(1)}`.replace(sealed.ciphertext, 'AAAA') },
      { ringKeyId: 'k9' },
    ]) {
      expect(() => openCredential(ring, { ...sealed, ...edit })).toThrow('the sealed credential does not open')
    }
    expect(() => openCredential(oldRing, sealed)).toThrow()
  })
  it('have one fingerprint per host and key', () => {
    const pepper = new Secret('pepper')
    const one = fingerprintCredential(pepper, 'a.example', new Secret(canary))
    expect(fingerprintCredential(pepper, 'a.example', new Secret(canary))).toBe(one)
    expect(fingerprintCredential(pepper, 'b.example', new Secret(canary))).not.toBe(one)
  })
  it('need a valid ring', () => {
    for (const text of ['', 'k1', 'k1:AAAA', ':x']) expect(() => parseKeyRing(text)).toThrow()
  })
})

describe('opened credentials', () => {
  it('are cached for a minute, and deleted then, with or without other openings', async () => {
    const { time, pass } = createManualTime()
    const { open, kept } = createCredentialOpener(ring, time)
    const sealed = Array.from({ length: 100 }, (_, at) =>
      sealCredential(ring, { ...binding, id: `crd_${at}` as never }, new Secret(`${canary}-${at}`)),
    )
    for (const one of sealed) {
      expect(open(one)).toBe(open(one))
      await pass(SECOND)
    }
    expect(kept()).toBeLessThanOrEqual(61)
    // A credential that changed under its name is opened again, for a new minute.
    const last = sealed[99]
    if (last === undefined) throw new Error('no credential')
    const changed = sealCredential(ring, { ...binding, id: 'crd_99' }, new Secret('another'))
    expect(open(changed).reveal()).toBe('another')
    await pass(MINUTE + 2 * SECOND)
    expect(kept()).toBe(0)
    expect(open(last).reveal()).toBe(`${canary}-99`)
  })

  it('are ten thousand at most', () => {
    const { open, kept } = createCredentialOpener(ring, createManualTime().time)
    const sealed = sealCredential(ring, binding, new Secret(canary))
    for (let at = 0; at < 10_050; at++)
      open({ ...sealCredential(ring, { ...binding, id: `crd_${at}` as never }, new Secret(canary)) })
    expect(kept()).toBe(10_000)
    expect(open(sealed).reveal()).toBe(canary)
  })
})

describe('errors', () => {
  it('hide text of others and keep our own text', () => {
    const stranger = toAppError(new Error(`connect failed with ${canary}`))
    expect(stranger.code).toBe('internal_error')
    expect(stranger.message).not.toContain(canary)
    expect(JSON.stringify(describeCause(stranger.cause))).not.toContain(canary)
    const own = new AppError('unknown_model', { message: 'No model x.' })
    expect([own.status, own.type, toAppError(own)]).toEqual([400, 'invalid_request_error', own])
  })
})
