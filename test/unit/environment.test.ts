import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readConfig as readControlPlane } from '#control-plane/config.ts'
import { SETTING_NOTES } from '#control-plane/services/controls/setting-notes.ts'
import { readConfig as readDataPlane } from '#data-plane/config.ts'

const example = readFileSync('.env.example', 'utf8')
const explained = new Set([...example.matchAll(/^([A-Z][A-Z0-9_]+)=/gm)].map((match) => match[1]))
const secrets = {
  CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  KEY_PEPPER: 'canary-key-pepper-0123456789',
  FINGERPRINT_PEPPER: 'canary-fingerprint-pepper-0123',
  SESSION_SECRET: 'canary-session-secret-0123456',
}
const control = { ...secrets, DATABASE_URL: 'postgres://u:canary-password@h/d', REDIS_URL: 'redis://h' }
const TREASURY = '0x2222222222222222222222222222222222222222'
const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const chained = {
  CHAIN_RPC_URL: 'http://127.0.0.1:8545',
  FACILITATOR_PRIVATE_KEY: `0x${'1f'.repeat(32)}`,
  TREASURY_ADDRESS: TREASURY,
}
const data = { ...secrets, REDIS_URL: 'redis://h', JOURNAL_DIR: '/tmp/journal' }

describe('the environment', () => {
  it.each(['control-plane/config.ts', 'data-plane/config.ts', 'shared/environment.ts', 'shared/telemetry/settings.ts'])(
    '%s: .env.example explains every variable',
    (file) => {
      const read = [...readFileSync(file, 'utf8').matchAll(/^ {2}([A-Z][A-Z0-9_]+):/gm)].map((match) => match[1])
      expect(read.filter((name) => !explained.has(name))).toEqual([])
    },
  )

  it('is shown to operators without any secret: no value of one, no part, no length', () => {
    const url = 'https://user:canary-url-password@h.example/canary-token'
    for (const [read, base] of [
      [readControlPlane, { ...control, ...chained, CHAIN_RPC_URL: url, OTEL_EXPORTER_OTLP_HEADERS: 'a=canary-header' }],
      [
        readDataPlane,
        { ...data, ARTIFACT_S3_BUCKET: 'b', ARTIFACT_S3_KEY_ID: 'canary-id', ARTIFACT_S3_SECRET: 'canary-s' },
      ],
    ] as const) {
      const { shown } = read(base)
      const texts = JSON.stringify(shown)
      expect(texts).not.toContain('canary')
      expect(texts).not.toContain(secrets.CREDENTIAL_KEYS)
      expect(texts).not.toContain(chained.FACILITATOR_PRIVATE_KEY)
      for (const name of ['CREDENTIAL_KEYS', 'KEY_PEPPER', 'REDIS_URL']) {
        // The same answer for a secret of any length.
        expect(shown.find((setting) => setting.name === name)).toEqual({
          name,
          value: null,
          isSecret: true,
          state: 'set',
          fallback: null,
        })
      }
      expect(shown.filter(({ isSecret, value }) => isSecret && value !== null)).toEqual([])
      expect(shown.find(({ name }) => name === 'PORT')).toMatchObject({ state: 'default', isSecret: false })
    }
    const fee = readControlPlane({ ...control, PLATFORM_FEE_BPS: '250' }).shown.find(
      ({ name }) => name === 'PLATFORM_FEE_BPS',
    )
    expect(fee).toEqual({ name: 'PLATFORM_FEE_BPS', value: '250', isSecret: false, state: 'set', fallback: '500' })
  })

  it('has a note on each variable that operators see, and no note on a variable that no plane reads', () => {
    const shown = [...readControlPlane(control).shown, ...readDataPlane(data).shown].map(({ name }) => name)
    expect(new Set(shown)).toEqual(new Set(SETTING_NOTES.keys()))
  })

  it('has a secret in each variable that becomes one, and none of them is shown', () => {
    const full = { ...control, ...chained, TREASURY_PRIVATE_KEY: `0x${'2f'.repeat(32)}` }
    const isHidden = (name: string) => readControlPlane(full).shown.find((one) => one.name === name)?.isSecret
    const named = [...explained].filter((name) => name !== undefined && /KEY|SECRET|PEPPER|URL|HEADERS/.test(name))
    const open = named.filter((name) => name !== undefined && isHidden(name) === false)
    expect(new Set(open)).toEqual(new Set(['API_BASE_URL', 'BASE_URL']))
  })

  it('accepts the required variables of .env.example alone', () => {
    expect(readControlPlane(control).platformFeeBps).toBe(500n)
    expect(readDataPlane(data).moneyBuckets).toBe(1)
  })

  it('names each missing or wrong variable in its refusal, never the value', () => {
    for (const [name, value] of Object.entries({
      KEY_PEPPER: 'canary',
      CREDENTIAL_KEYS: 'canary',
      REDIS_URL: 'canary',
      PORT: 'canary',
    })) {
      for (const read of [
        () => readControlPlane({ ...control, [name]: value }),
        () => readDataPlane({ ...data, [name]: value }),
      ]) {
        expect(read).toThrow(name)
        expect(read).not.toThrow('canary')
      }
    }
  })

  it('names a missing variable once', () => {
    expect(() => readDataPlane({ ...data, REDIS_URL: undefined, LOG_LEVEL: 'loud' })).toThrow(
      /^the configuration is not valid:\n {2}REDIS_URL is required\n {2}LOG_LEVEL: /,
    )
  })

  it('refuses the development switch in production', () => {
    const development = { NODE_ENV: 'production', ALLOW_LOOPBACK_UPSTREAMS: '1' }
    expect(() => readControlPlane({ ...control, ...development })).toThrow('ALLOW_LOOPBACK_UPSTREAMS')
    expect(() => readDataPlane({ ...data, ...development })).toThrow('ALLOW_LOOPBACK_UPSTREAMS')
  })

  it('names the point of a planned crash, and refuses one in production', () => {
    const crash = { CRASH_AT: 'before_capture#3' }
    expect(readDataPlane({ ...data, ...crash }).crashAt).toEqual({ point: 'before_capture', passage: 3 })
    expect(readControlPlane({ ...control, CRASH_AT: '' }).crashAt).toBeUndefined()
    for (const CRASH_AT of ['nowhere#1', 'before_ack', 'before_ack#0', 'before_ack#1#2']) {
      expect(() => readControlPlane({ ...control, CRASH_AT })).toThrow('CRASH_AT')
    }
    expect(() => readDataPlane({ ...data, ...crash, NODE_ENV: 'production' })).toThrow('CRASH_AT')
    expect(() => readControlPlane({ ...control, ...crash, NODE_ENV: 'production' })).toThrow('CRASH_AT')
  })

  it('takes no wallet payments without a treasury and a facilitator', () => {
    expect(readControlPlane(control).payments).toBeUndefined()
    expect(readControlPlane({ ...control, CHAIN_RPC_URL: chained.CHAIN_RPC_URL }).payments).toBeUndefined()
    const terms = { chainId: 8_453, asset: USDC, payTo: TREASURY }
    expect(readControlPlane({ ...control, ...chained }).payments).toMatchObject(terms)
    const remote = { TREASURY_ADDRESS: TREASURY, FACILITATOR_URL: 'https://facilitator.example' }
    expect(readControlPlane({ ...control, ...remote }).payments?.facilitator).toEqual({ url: remote.FACILITATOR_URL })
  })

  it('refuses an incomplete chain, a mistyped address and a malformed private key, by name alone', () => {
    for (const name of ['CHAIN_RPC_URL', 'TREASURY_ADDRESS', 'FACILITATOR_PRIVATE_KEY']) {
      expect(() => readControlPlane({ ...control, ...chained, [name]: '' })).toThrow(`needs ${name}`)
    }
    // The first address has one letter of its checksum in the wrong case.
    for (const value of [USDC.replace('f', 'F'), USDC.slice(0, -1), 'canary']) {
      for (const name of ['TREASURY_ADDRESS', 'USDC_ADDRESS']) {
        const read = () => readControlPlane({ ...control, ...chained, [name]: value })
        expect(read).toThrow(name)
        expect(read).not.toThrow(value)
      }
    }
    const lower = { ...chained, TREASURY_ADDRESS: USDC.toLowerCase() }
    expect(readControlPlane({ ...control, ...lower }).payments?.payTo).toBe(USDC)
    const order = '0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'
    for (const key of ['canary', `0x${'0'.repeat(64)}`, order, '1f'.repeat(32)]) {
      const read = () => readControlPlane({ ...control, ...chained, FACILITATOR_PRIVATE_KEY: key })
      expect(read).toThrow('FACILITATOR_PRIVATE_KEY')
      expect(read).not.toThrow(key)
    }
  })

  it('does not print its secrets', () => {
    const chain = { ...chained, CHAIN_RPC_URL: 'http://127.0.0.1/canary' }
    const plain = (_name: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
    const printed = JSON.stringify(readControlPlane({ ...control, ...chain }), plain)
    expect(printed).not.toContain('canary')
    expect(printed).not.toContain(chained.FACILITATOR_PRIVATE_KEY)
  })
})
