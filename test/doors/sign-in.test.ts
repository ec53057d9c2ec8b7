import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRpcContractWallets } from '#control-plane/ports/contract-wallets/rpc-contract-wallets.ts'
import { proveWallet, TO_SIGN_IN } from '#control-plane/services/sign-in/siwe.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { AppError } from '#shared/errors.ts'
import type { Answer, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'
import type { MessageFields } from '#test/support/doors/wallet.ts'
import { challengeOf, newWallet, signedChallenge, signInForKey } from '#test/support/doors/wallet.ts'

let market: TestMarket

beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market?.stop())

const wallet = newWallet()
type Change = Partial<MessageFields> | ((message: string) => string)

const submit = (body: object, side = 'seller'): Promise<Answer> =>
  market.rest('POST', `/v1/${side}/auth/keys`, { body })
const attempt = async (change: Change): Promise<Answer> => submit(await signedChallenge(market, wallet, change))
/** The present time as ISO text. EIP-4361 texts may be cut to the second. */
const at = (ms: number) => new Date(market.plane.clock.now() + ms)

describe('a challenge', () => {
  it('is a message of the market to sign, with a nonce for five minutes', async () => {
    const { message, nonce, expires_at } = await challengeOf(market, wallet)
    expect(message).toContain(`127.0.0.1:8402 wants you to sign in with your Ethereum account:\n${wallet.address}\n`)
    for (const line of ['URI: http://127.0.0.1:8402', 'Version: 1', 'Chain ID: 8453', `Nonce: ${nonce}`]) {
      expect(message.split('\n')).toContain(line)
    }
    const leftMs = expires_at - market.plane.clock.now()
    expect(leftMs).toBeGreaterThan(4 * MINUTE)
    expect(leftMs).toBeLessThanOrEqual(5 * MINUTE)
    expect(codeOf(await market.rest('GET', '/v1/seller/auth/challenge'))).toBe('invalid_request')
    expect(codeOf(await market.rest('GET', '/v1/seller/auth/challenge?address=0x12'))).toBe('invalid_request')
  })
})

describe('a signed challenge', () => {
  it('is exchanged for a key of either side, which works at once and is shown once', async () => {
    const fresh = newWallet()
    const body = { ...(await signedChallenge(market, fresh)), label: 'first' }
    const answer = await submit(body)
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^key_/),
        key: expect.stringMatching(/^mkt_seller_\w{49}$/),
        api_key: expect.stringMatching(/^mkt_seller_\w{49}$/),
        key_prefix: expect.stringMatching(/^mkt_seller_\w{8}$/),
        key_type: 'seller',
        kind: 'standard',
        wallet: fresh.address.toLowerCase(),
        label: 'first',
        created_at: expect.any(Number),
        last_used_at: null,
        revoked_at: null,
        frozen_at: null,
      },
    ])
    const { key } = z.object({ key: z.string() }).parse(answer.body)
    const list = await market.rest('GET', '/v1/seller/keys', { key })
    expect([list.status, list.text.includes(key)]).toEqual([200, false])
    const buyer = await signInForKey(market, fresh, 'buyer')
    expect((await market.rest('GET', '/v1/buyer/me', { key: buyer.key })).body).toMatchObject({ wallet: buyer.wallet })
    expect(codeOf(await market.rest('GET', '/v1/buyer/me', { key }))).toBe('wrong_key_type')
    const end = market.plane.clock.now() + MINUTE
    const ending = await submit({ ...(await signedChallenge(market, fresh)), expires_at: new Date(end).toISOString() })
    expect(ending.body).toMatchObject({ label: 'Wallet sign-in', expires_at: end })
  })

  it('is valid for exactly one key, in sequence and in parallel', async () => {
    const body = await signedChallenge(market, wallet)
    const answers = await Promise.all(Array.from({ length: 20 }, () => submit(body)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(19).fill(401)])
    expect(answers.map(codeOf)).toContain('invalid_signature')
    expect((await submit(body, 'buyer')).status).toBe(401)
    const parallel = newWallet()
    const many = await Promise.all(Array.from({ length: 5 }, () => signedChallenge(market, parallel)))
    const made = await Promise.all(many.map((signed) => submit(signed)))
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
  })

  it('needs a nonce that was issued to its address within five minutes', async () => {
    const { nonce } = await challengeOf(market, newWallet())
    expect(codeOf(await attempt({ nonce }))).toBe('invalid_signature')
    expect(codeOf(await attempt({ nonce: 'a'.repeat(64) }))).toBe('invalid_signature')
    expect(codeOf(await attempt({ nonce: 'abcdefgh' }))).toBe('invalid_signature')
    const later = (ms: number) => ({ issuedAt: at(ms), expirationTime: at(ms + MINUTE) })
    const [inTime, late] = [
      await signedChallenge(market, wallet, later(5 * MINUTE)),
      await signedChallenge(market, wallet, later(5 * MINUTE)),
    ]
    market.advance(5 * MINUTE - 2 * SECOND)
    expect((await submit(inTime)).status).toBe(201)
    market.advance(3 * SECOND)
    expect(codeOf(await submit(late))).toBe('invalid_signature')
  })

  it("names the market's domain and URI, Base, and version 1", async () => {
    const wrong: Change[] = [
      { domain: 'evil.example' },
      { domain: '127.0.0.1:8403' },
      { uri: 'https://evil.example' },
      { uri: 'http://127.0.0.1:8402.evil.example/' },
      { uri: 'http://127.0.0.1:8402@evil.example/' },
      { scheme: 'https' },
      { chainId: 1 },
      (message) => message.replace('Version: 1', 'Version: 2'),
      (message) => message.replace('Chain ID: 8453', 'Chain ID: 08453'),
      (message) => `${message}\nanything`,
      (message) => message.replace('\nNonce: ', '\n\nNonce: '),
      (message) => message.replaceAll('\n', '\r\n'),
      (message) => message.replace(wallet.address, wallet.address.toLowerCase()),
      () => '',
      () => 'hello',
    ]
    for (const change of wrong) expect(codeOf(await attempt(change)), String(change)).toBe('invalid_signature')
    for (const change of [
      { uri: 'http://127.0.0.1:8402/sign-in?x=1' },
      { scheme: 'http' },
      { statement: 'Nonce: hello' },
      { resources: ['https://example.com/terms'] },
    ]) {
      expect((await attempt(change)).status, JSON.stringify(change)).toBe(201)
    }
  })

  it('was issued within five minutes of now', async () => {
    const issued = (ms: number) => attempt({ issuedAt: at(ms), expirationTime: at(ms + 9 * MINUTE) })
    expect((await issued(-5 * MINUTE + SECOND)).status).toBe(201)
    expect((await issued(5 * MINUTE - SECOND)).status).toBe(201)
    expect(codeOf(await issued(-5 * MINUTE - SECOND))).toBe('invalid_signature')
    expect(codeOf(await issued(5 * MINUTE + 5 * SECOND))).toBe('invalid_signature')
  })

  it('expires at most ten minutes after its issue, on a day of the calendar', async () => {
    const issuedAt = at(0)
    const ends = (ms: number) => attempt({ issuedAt, expirationTime: new Date(issuedAt.getTime() + ms) })
    expect((await ends(10 * MINUTE)).status).toBe(201)
    expect(codeOf(await ends(10 * MINUTE + SECOND))).toBe('invalid_signature')
    expect(codeOf(await ends(-SECOND))).toBe('invalid_signature')
    expect(codeOf(await ends(0))).toBe('invalid_signature')
    const line = /\nExpiration Time: .*/
    const year = new Date().getUTCFullYear()
    for (const text of ['', `\nExpiration Time: ${year}-02-30T00:00:00Z`, '\nExpiration Time: 1999999999']) {
      expect(codeOf(await attempt((message) => message.replace(line, text))), text).toBe('invalid_signature')
    }
    const whole = (message: string) => message.replace(/\.\d{3}Z/g, 'Z')
    expect((await attempt(whole)).status).toBe(201)
    expect(codeOf(await attempt({ notBefore: at(MINUTE) }))).toBe('invalid_signature')
  })

  it('has the signature of its own address, in one form', async () => {
    const { message, signature } = await signedChallenge(market, wallet)
    const other = await newWallet().signMessage({ message })
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const highS = (signed: string) => {
      const s = (order - BigInt(`0x${signed.slice(66, 130)}`)).toString(16).padStart(64, '0')
      return `${signed.slice(0, 66)}${s}${signed.endsWith('1b') ? '1c' : '1b'}`
    }
    const wrong = [
      (_signed: string) => other,
      (signed: string) => signed.slice(0, -2),
      (signed: string) => `${signed}00`,
      (signed: string) => `${signed.slice(0, -2)}1d`,
      highS,
      (_signed: string) => `0x${'00'.repeat(65)}`,
      (signed: string) => signed.slice(2),
      (_signed: string) => '0x',
      (_signed: string) => '',
    ]
    for (const change of wrong) {
      const signed = await signedChallenge(market, wallet)
      const answer = await submit({ ...signed, signature: change(signed.signature) })
      expect([answer.status, codeOf(answer)], change.toString()).toEqual([401, 'invalid_signature'])
    }
    expect((await submit({ message, signature: other })).status).toBe(401)
    // The first attempt used the nonce.
    expect((await submit({ message, signature })).status).toBe(401)
    const zeroBased = await signedChallenge(market, wallet)
    const v = zeroBased.signature.endsWith('1b') ? '00' : '01'
    expect((await submit({ ...zeroBased, signature: zeroBased.signature.slice(0, -2) + v })).status).toBe(201)
  })

  it('of a contract wallet is checked on the chain, which has a time limit', async () => {
    const answers = new Map([
      ['good', '{"jsonrpc":"2.0","id":1,"result":"0x01"}'],
      ['bad', '{"jsonrpc":"2.0","id":1,"result":"0x00"}'],
    ])
    const rpc = createServer((request, response) => {
      request.resume().on('end', () => {
        const answer = answers.get(request.url?.slice(1) ?? '')
        if (answer !== undefined) response.setHeader('content-type', 'application/json').end(answer)
      })
    })
    await new Promise<void>((done) => rpc.listen(0, '127.0.0.1', done))
    const { port } = rpc.address() as AddressInfo
    const through = async (path: string, timeoutMs = 60_000): Promise<string> => {
      const contractWallets = createRpcContractWallets(`http://127.0.0.1:${port}/${path}`, timeoutMs)
      const signed = await signedChallenge(market, wallet)
      const forged = { ...signed, signature: `0x${'ab'.repeat(97)}` }
      return proveWallet({ ...market.plane, contractWallets }, forged, TO_SIGN_IN).catch(
        (error: AppError) => error.code,
      )
    }
    expect(await through('good')).toBe(wallet.address.toLowerCase())
    expect(await through('bad')).toBe('invalid_signature')
    expect(await through('hangs', 100)).toBe('service_unavailable')
    rpc.closeAllConnections()
    rpc.close()
  })
})
