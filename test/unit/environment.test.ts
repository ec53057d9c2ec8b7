import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readConfig as readControlPlane } from '#control-plane/config.ts'
import { readConfig as readDataPlane } from '#data-plane/config.ts'

const example = readFileSync('.env.example', 'utf8')
const explained = new Set([...example.matchAll(/^([A-Z_]+)=/gm)].map((match) => match[1]))
const secrets = {
  CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  KEY_PEPPER: 'canary-key-pepper-0123456789',
  FINGERPRINT_PEPPER: 'canary-fingerprint-pepper-0123',
  SESSION_SECRET: 'canary-session-secret-0123456',
}
const control = { ...secrets, DATABASE_URL: 'postgres://u:canary-password@h/d', REDIS_URL: 'redis://h' }
const data = { ...secrets, REDIS_URL: 'redis://h', JOURNAL_DIR: '/tmp/journal' }

describe('the environment', () => {
  it.each(['control-plane/config.ts', 'data-plane/config.ts', 'shared/environment.ts', 'shared/telemetry/settings.ts'])(
    '%s: .env.example explains every variable',
    (file) => {
      const read = [...readFileSync(file, 'utf8').matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].map((match) => match[1])
      expect(read.filter((name) => !explained.has(name))).toEqual([])
    },
  )

  it('is enough with what .env.example calls required', () => {
    expect(readControlPlane(control).platformFeeBps).toBe(500n)
    expect(readDataPlane(data).moneyBuckets).toBe(1)
  })

  it('is refused by the name of each missing or wrong variable, never by its value', () => {
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

  it('names what is missing once', () => {
    expect(() => readDataPlane({ ...data, REDIS_URL: undefined, LOG_LEVEL: 'loud' })).toThrow(
      /^the configuration is not valid:\n {2}REDIS_URL is required\n {2}LOG_LEVEL: /,
    )
  })

  it('refuses the development switch in production', () => {
    const development = { NODE_ENV: 'production', ALLOW_LOOPBACK_UPSTREAMS: '1' }
    expect(() => readControlPlane({ ...control, ...development })).toThrow('ALLOW_LOOPBACK_UPSTREAMS')
    expect(() => readDataPlane({ ...data, ...development })).toThrow('ALLOW_LOOPBACK_UPSTREAMS')
  })

  it('names where a process is to die, and refuses to in production', () => {
    const crash = { CRASH_AT: 'before_capture#3' }
    expect(readDataPlane({ ...data, ...crash }).crashAt).toEqual({ point: 'before_capture', passage: 3 })
    expect(readControlPlane({ ...control, CRASH_AT: '' }).crashAt).toBeUndefined()
    for (const CRASH_AT of ['nowhere#1', 'before_ack', 'before_ack#0', 'before_ack#1#2']) {
      expect(() => readControlPlane({ ...control, CRASH_AT })).toThrow('CRASH_AT')
    }
    expect(() => readDataPlane({ ...data, ...crash, NODE_ENV: 'production' })).toThrow('CRASH_AT')
    expect(() => readControlPlane({ ...control, ...crash, NODE_ENV: 'production' })).toThrow('CRASH_AT')
  })

  it('does not print its secrets', () => {
    expect(JSON.stringify({ ...readControlPlane(control), platformFeeBps: 0 })).not.toContain('canary')
  })
})
