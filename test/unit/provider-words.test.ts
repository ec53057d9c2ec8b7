import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classifyStatus } from '#data-plane/upstream/classify.ts'
import { holdsKey } from '#data-plane/upstream/key-traces.ts'
import { readProviderWords } from '#data-plane/upstream/provider-words.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'

const ASKED = JSON.stringify({
  model: 'gpt-4o-2024-08-06',
  messages: [{ role: 'tool', tool_call_id: 'call_9fA3bQ7z', content: 'hi' }],
  max_tokens: 99_999,
})

function speakerWith(key: string) {
  return { holdsKey: (text: string) => holdsKey(text, key), requestText: () => ASKED }
}

function shown(message: string, key = 'another-credential-0123', param?: string) {
  return readProviderWords({ message, ...(param === undefined ? {} : { param }) }, speakerWith(key))
}

describe("the shown text of a provider's refusal", () => {
  it.each([
    "Invalid value: 'foo'. Supported values are: 'system', 'user' and 'assistant'.",
    'max_tokens is too large: 99999. This model supports at most 16384 completion tokens.',
    "An assistant message with 'tool_calls' must be followed by tool messages: call_9fA3bQ7z",
    'messages.1.content: Field required',
    'temperature must be between 0 and 2.0',
    'The model gpt-4o-2024-08-06 does not support audio, e.g. as input.',
    'Unsupported parameter: maxTokens',
  ])("is the provider's own text where each word is known to be safe: %s", (message) => {
    expect(shown(message).forBuyer).toBe(message)
  })

  it.each([
    'upstream https://inference.acme.example/v1 refused',
    'no route to api-7.internal.acme.example',
    'connect to 10.1.2.3 failed',
    'connect to [fd00:1:2::7] failed',
    'redis:6379 is away',
    'see /srv/app/handlers/chat.py',
    'C:\\inetpub\\wwwroot\\x',
    'Traceback (most recent call last): File x, line 12',
    'TypeError at Object.handle (index.js)',
    '<html><body>Bad Request</body></html>',
    'mail ops@acme.example',
    'Incorrect key provided: AIzaSyA1bC2dE3fG4',
    'Incorrect key provided: csk-a1b2c3d4e5f6',
    'key pplx0a1b2c3d4 has no access',
    'request req_011CSHoEeqs5C35K2UUqRy7 failed',
  ])('is empty for a text that names a host, code or a possible key: %s', (message) => {
    expect(shown(message).forBuyer).toBe('')
  })

  it("names the parameter and the limit in our words where the provider's text is not shown", () => {
    const message = 'max_tokens: at most 16384, says node-3.internal.acme.example'
    expect(shown(message, undefined, 'max_tokens')).toMatchObject({
      forBuyer: 'it names the parameter `max_tokens`, and it names the limit 16384',
      param: 'max_tokens',
    })
    expect(shown('bad', undefined, 'internal_routing_key').param).toBeUndefined()
    const { error } = classifyStatus(
      400,
      readErrorBody(JSON.stringify({ error: { message, param: 'max_tokens' } })),
      speakerWith('another-credential-0123'),
    )
    expect(error).toMatchObject({ code: 'upstream_rejected', param: 'max_tokens' })
  })

  it("keeps host names in the seller's log and hides possible keys", () => {
    expect(shown('no route to api.acme.example for AIzaSyA1bC2dE3fG4').forLog).toBe(
      'no route to api.acme.example for [hidden]',
    )
  })
})

const ALPHABETS = [
  'abcdefghijklmnopqrstuvwxyz',
  'ABCDEFabcdef0123456789',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
]
const PREFIXES = ['', 'sk-', 'AIza', 'csk-', 'nvapi-', 'pplx-', 'gsk_', 'sk-ant-api03-', 'Bearer ']

const key = fc
  .tuple(
    fc.constantFrom(...PREFIXES),
    fc.constantFrom(...ALPHABETS),
    fc.array(fc.nat(61), { minLength: 16, maxLength: 64 }),
  )
  .map(([prefix, alphabet, places]) => prefix + places.map((at) => alphabet[at % alphabet.length]).join(''))

const hex = (code: number, width: number) => code.toString(16).padStart(width, '0')
const eachCode = (text: string, write: (code: number) => string) =>
  [...text].map((each) => write(each.charCodeAt(0))).join('')

/** The encodings in which servers repeat what they were sent. */
const ENCODINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => encodeURIComponent(text),
  (text) => eachCode(text, (code) => `%${hex(code, 2)}`),
  (text) => eachCode(text, (code) => `\\u${hex(code, 4)}`),
  (text) => eachCode(text, (code) => `\\x${hex(code, 2)}`),
  (text) => eachCode(text, (code) => `&#${code};`),
  (text) => eachCode(text, (code) => `&#x${hex(code, 2)};`),
  (text) => Buffer.from(text).toString('base64'),
  (text) => Buffer.from(`authorization: ${text}`).toString('base64url'),
  (text) => Buffer.from(text).toString('hex'),
  (text) => encodeURIComponent(Buffer.from(text).toString('base64')),
  (text) => [...text].join(' '),
  (text) => text.replace(/(.{4})/g, '$1-'),
]

const SHAPES: readonly ((told: string) => string)[] = [
  (told) => told,
  (told) => `Incorrect API key provided: ${told}.`,
  (told) => `header "authorization: Bearer ${told}" was refused, at most 8 tries`,
  (told) => `max_tokens (${told}) must be a number`,
  (told) => `see https://host.example/?key=${told}`,
]

describe('the credential of an attempt', () => {
  it('never leaks, whole or from eight characters on, in any encoding and shape', () => {
    fc.assert(
      fc.property(
        key,
        fc.constantFrom(...ENCODINGS),
        fc.constantFrom(...SHAPES),
        fc.tuple(fc.nat(40), fc.integer({ min: 8, max: 80 })),
        (credential, encode, shape, [from, length]) => {
          const secret = credential.replace(/^Bearer /, '')
          const cut = secret.slice(Math.min(from, secret.length - 8)).slice(0, length)
          // Eight letters and digits make a fragment. Other characters between them do not count.
          fc.pre(cut.replace(/[^A-Za-z0-9]/g, '').length >= 8)
          const message = shape(encode(cut))
          const words = readProviderWords({ message, param: cut }, speakerWith(secret))
          for (const text of [words.forBuyer, words.param ?? '', words.forLog]) {
            expect(holdsKey(text, secret)).toBe(false)
            expect(text).not.toContain(cut)
          }
          expect(words.forBuyer).not.toContain(encode(cut))
          expect(words.forLog).not.toContain(encode(cut))
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
