import { createHash } from 'node:crypto'
import { Hash } from '@smithy/core/serde'
import { SignatureV4 } from '@smithy/signature-v4'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bedrock } from '#shared/protocols/bedrock/index.ts'
import { readCredential, secretsOf } from '#shared/protocols/credential.ts'

const PAIR = { access_key_id: 'AKIAIOSFODNN7EXAMPLE', secret_access_key: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }
const TOKEN = 'FwoGZXIvYXdzEXAMPLE//////////wEaDKEXAMPLE+token=='
const SPEAKER = { apiFormat: 'bedrock' } as const

/** The authorization headers that the signer adds to a request. */
function authorised(credential: string, request: { host: string; path: string; body: string; at: number }) {
  const headers = ['content-type', 'application/json', 'accept', 'application/json']
  bedrock.authorize(headers, credential, { method: 'POST', ...request })
  const pairs = headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? ''] as const] : []))
  return new Map(pairs)
}

/** The signature that AWS's own signer makes of the same request. */
async function signedByAmazon(
  { host, path, body, at }: { host: string; path: string; body: string; at: number },
  region: string,
  token?: string,
): Promise<string | undefined> {
  const signer = new SignatureV4({
    service: 'bedrock',
    region,
    credentials: {
      accessKeyId: PAIR.access_key_id,
      secretAccessKey: PAIR.secret_access_key,
      ...(token !== undefined && { sessionToken: token }),
    },
    sha256: Hash.bind(null, 'sha256'),
  })
  const headers = { host, 'content-type': 'application/json' }
  const { headers: signed } = await signer.sign(
    { method: 'POST', protocol: 'https:', hostname: host, path, headers, body },
    { signingDate: new Date(at) },
  )
  return signed['authorization']
}

describe('a signature of a request for Bedrock', () => {
  it('equals that of AWS’s own signer', async () => {
    const property = fc.asyncProperty(
      fc.record({
        region: fc.constantFrom('us-east-1', 'eu-central-1', 'us-gov-west-1', 'ap-southeast-2'),
        model: fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' }),
        body: fc.string({ unit: 'grapheme', maxLength: 200 }),
        at: fc.integer({ min: 1_500_000_000_000, max: 1_900_000_000_000 }),
        token: fc.option(fc.constantFrom(TOKEN, 'x'.repeat(1_000)), { nil: undefined }),
      }),
      async ({ region, model, body, at, token }) => {
        const host = `bedrock-runtime.${region}.amazonaws.com`
        const request = { host, path: `/model/m${encodeURIComponent(model)}/converse`, body, at }
        const credential = JSON.stringify(token === undefined ? PAIR : { ...PAIR, session_token: token })
        const headers = authorised(credential, request)
        expect(headers.get('authorization')).toBe(await signedByAmazon(request, region, token))
        expect(headers.get('x-amz-security-token')).toBe(token)
      },
    )
    await fc.assert(property, { numRuns: 500 })
  })

  it('is valid for one host, one path, one body and one moment', () => {
    const base = { host: 'bedrock-runtime.us-east-1.amazonaws.com', path: '/model/a/converse', body: '{}', at: 1e12 }
    const others = [
      { ...base, host: 'bedrock-runtime.us-west-2.amazonaws.com' },
      { ...base, host: 'evil.example' },
      { ...base, path: '/model/b/converse' },
      { ...base, body: '{ }' },
      { ...base, at: 1e12 + 1_000 },
    ]
    const signatures = [base, ...others].map((request) =>
      authorised(JSON.stringify(PAIR), request).get('authorization'),
    )
    expect(new Set(signatures).size).toBe(signatures.length)
  })

  it('signs a body in pieces like the whole body', () => {
    const pieces = ['{"a":', '"é"', '}'].map((text) => Buffer.from(text))
    const headers: string[] = []
    const request = { method: 'POST', host: 'h', path: '/p', at: 1e12 }
    bedrock.authorize(headers, JSON.stringify(PAIR), { ...request, body: pieces })
    const whole: string[] = []
    bedrock.authorize(whole, JSON.stringify(PAIR), { ...request, body: '{"a":"é"}' })
    expect(headers).toEqual(whole)
    expect(headers[1]).toBe(createHash('sha256').update('{"a":"é"}').digest('hex'))
  })

  it('is left out with an API key, which is sent as it is', () => {
    const headers = authorised('bedrock-api-key-example', { host: 'h', path: '/p', body: '', at: 0 })
    expect([...headers]).toEqual([
      ['content-type', 'application/json'],
      ['accept', 'application/json'],
      ['authorization', 'Bearer bedrock-api-key-example'],
    ])
  })
})

describe('a credential of Bedrock', () => {
  it('has one normal form for every spelling', () => {
    const spelled = [
      JSON.stringify(PAIR),
      JSON.stringify(PAIR, null, 2),
      `\n{"secret_access_key":"${PAIR.secret_access_key}",\t"access_key_id":"${PAIR.access_key_id}"}  `,
    ]
    expect(new Set(spelled.map((text) => readCredential(SPEAKER, text)))).toEqual(new Set([JSON.stringify(PAIR)]))
    expect(readCredential(SPEAKER, 'bedrock-api-key-example')).toBe('bedrock-api-key-example')
  })

  it('is nothing else', () => {
    for (const text of [
      '{}',
      '{',
      '[]',
      JSON.stringify({ ...PAIR, endpoint: 'https://evil.example' }),
      JSON.stringify({ ...PAIR, access_key_id: 'AKIA\r\nx: y' }),
      JSON.stringify({ ...PAIR, secret_access_key: 'short' }),
      JSON.stringify({ ...PAIR, session_token: 'with a space in it' }),
      JSON.stringify({ access_key_id: PAIR.access_key_id }),
      'a key with spaces',
      'k\r\nx: y',
      'short',
    ]) {
      expect(readCredential(SPEAKER, text), text).toBeUndefined()
    }
  })

  it('keeps its parts secret', () => {
    expect(secretsOf(SPEAKER, JSON.stringify({ ...PAIR, session_token: TOKEN }))).toEqual([
      PAIR.secret_access_key,
      TOKEN,
      PAIR.access_key_id,
    ])
    expect(secretsOf(SPEAKER, JSON.stringify(PAIR))).toEqual([PAIR.secret_access_key, PAIR.access_key_id])
    expect(secretsOf(SPEAKER, 'bedrock-api-key-example')).toEqual(['bedrock-api-key-example'])
    expect(secretsOf({ apiFormat: 'openai' }, 'sk-example')).toEqual(['sk-example'])
  })
})
