import { describe, expect, it } from 'vitest'
import type { Answer } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'
import { newPasskeyBrowser } from '#test/support/doors/passkey-browser.ts'
import { newWallet, signInForSession } from '#test/support/doors/wallet.ts'

const PATHS = ['/v1/auth/sample-session', '/v1/buyer/sample-credit']

const refusal = (answer: Answer) => [answer.status, codeOf(answer)]

describe('a sample buyer', () => {
  it('exists in a development market only', async () => {
    const wallet = newWallet()
    const plain = await startMarket()
    const headers = await signInForSession(plain, wallet)
    for (const path of PATHS) {
      expect(refusal(await plain.rest('POST', path, { headers })), path).toEqual([404, 'not_found'])
    }
    await plain.stop()
    const development = await startMarket({ environment: { SAMPLE_BUYER: wallet.address } })
    const visitor = newPasskeyBrowser(development, 'http://localhost:8402')
    expect(refusal(await visitor.send('POST', '/v1/auth/sample-session'))).toEqual([404, 'not_found'])
    await signInForSession(development, wallet)
    const answer = await visitor.send('POST', '/v1/auth/sample-session')
    expect([answer.status, answer.body]).toEqual([
      201,
      expect.objectContaining({ wallet: wallet.address.toLowerCase() }),
    ])
    const granted = await visitor.send('POST', '/v1/buyer/sample-credit')
    const twice = await visitor.send('POST', '/v1/buyer/sample-credit')
    expect([granted.body, twice.body]).toMatchObject([{ is_repeat: false }, { is_repeat: true }])
    expect((await visitor.send('GET', '/v1/buyer/me')).body).toMatchObject({ credit_balance_usdc: '5000000' })
    await development.stop()
  })

  it('exists for callers of the same machine only', async () => {
    const wallet = newWallet()
    const development = await startMarket({ environment: { SAMPLE_BUYER: wallet.address } })
    const mine = await signInForSession(development, wallet)
    for (const path of PATHS) {
      // A proxy on this machine names the client of its request.
      const headers = { ...mine, 'x-forwarded-for': '203.0.113.7' }
      expect(refusal(await development.rest('POST', path, { headers })), path).toEqual([404, 'not_found'])
    }
    await development.stop()
  })

  it('is refused outside of development', async () => {
    const SAMPLE_BUYER = newWallet().address
    const open = [
      { NODE_ENV: 'production', ALLOW_LOOPBACK_UPSTREAMS: '' },
      { BASE_URL: 'https://market.example' },
      { API_BASE_URL: 'https://api.market.example' },
      { HOST: '0.0.0.0' },
    ]
    for (const environment of open) {
      await expect(startMarket({ environment: { SAMPLE_BUYER, ...environment } })).rejects.toThrow('SAMPLE_BUYER')
    }
  })
})
