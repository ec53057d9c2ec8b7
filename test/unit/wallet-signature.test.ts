import type { Hex } from 'viem'
import { concat, hashMessage, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import type { SignatureVerdict } from '#data-plane/rails/wallet-signature.ts'
import { createWalletSignatures } from '#data-plane/rails/wallet-signature.ts'
import { createManualTime } from './fixtures/manual-time.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const payer = privateKeyToAccount(generatePrivateKey())
const stranger = privateKeyToAccount(generatePrivateKey())
const hash = hashMessage('the payment')
const wallet = payer.address
const signature = await payer.sign({ hash })

/** The same signature with the other s, and the matching v. */
function withHighS(of: Hex): Hex {
  const s = ORDER - BigInt(`0x${of.slice(66, 130)}`)
  return concat([asHex(of.slice(2, 66)), toHex(s, { size: 32 }), of.endsWith('1b') ? '0x1c' : '0x1b'])
}

const asHex = (digits: string): Hex => `0x${digits}`

/** Wallets, some of which are contracts. Null means that the chain cannot be read. */
function world(contracts: readonly string[] | null = []) {
  const { time, pass } = createManualTime()
  const asked: string[] = []
  const desk = {
    isContract: async (of: string) => {
      asked.push(of)
      return contracts?.some((one) => one.toLowerCase() === of)
    },
  }
  return { pass, asked, signatures: createWalletSignatures({ desk, clock: time }) }
}

describe('the signature of a payment', () => {
  it('of its wallet is good, without a read of the chain', async () => {
    const { asked, signatures } = world()
    for (const given of [signature, `0x${signature.slice(2).toUpperCase()}`]) {
      expect(await signatures.judge({ hash, signature: given, wallet })).toBe('good')
    }
    expect(asked).toEqual([])
  })

  it.each<[string, () => Hex | Promise<Hex>]>([
    ['of another wallet', () => stranger.sign({ hash })],
    ['of something else', () => payer.sign({ hash: hashMessage('something else') })],
    ['with a high s', () => withHighS(signature)],
    ['with a v of 0 or 1', () => asHex(signature.slice(2, 130) + (signature.endsWith('1b') ? '00' : '01'))],
    ['in the short form', () => asHex(signature.slice(2, 130))],
    ['of zeros', () => `0x${'00'.repeat(64)}1b`],
    ['that is no point', () => `0x${'ff'.repeat(32)}${'11'.repeat(32)}1b`],
    ['of one byte', () => '0x00'],
  ])('%s is refused for a plain wallet, and left to the facilitator for a contract', async (_what, make) => {
    const forged = { hash, wallet, signature: await make() }
    expect(await world([]).signatures.judge(forged)).toBe('forged')
    expect(await world([wallet]).signatures.judge(forged)).toBe('unproven')
    // While the chain cannot be read, the signature is not refused.
    expect(await world(null).signatures.judge(forged)).toBe('unproven')
  })

  it('of a contract that is not deployed yet is left to the facilitator', async () => {
    const { asked, signatures } = world([])
    expect(await signatures.judge({ hash, wallet, signature: `0x1234${'6492'.repeat(16)}` })).toBe('unproven')
    expect(asked).toEqual([])
  })

  it('looks a wallet up once in half a minute, for any number of forgeries', async () => {
    const { pass, asked, signatures } = world([])
    const forged = { hash, wallet, signature: await stranger.sign({ hash }) }
    await Promise.all(Array.from({ length: 20 }, () => signatures.judge(forged)))
    await pass(29_000)
    expect(await signatures.judge(forged)).toBe('forged')
    expect(asked).toHaveLength(1)
    await pass(2_000)
    expect(await signatures.judge(forged)).toBe('forged')
    expect(asked).toHaveLength(2)
  })

  it('is left to the facilitator above a hundred checks a second', async () => {
    const { pass, signatures } = world([])
    const forged = { hash, wallet, signature: '0x00' }
    const verdicts = await Promise.all(Array.from({ length: 120 }, () => signatures.judge(forged)))
    expect(verdicts.filter((verdict) => verdict === 'forged')).toHaveLength(100)
    await pass(1_000)
    expect(await signatures.judge(forged)).toBe('forged')
  })

  it('that is unproven is passed on for eight payments of an address at once, and for no more', async () => {
    const { signatures } = world([])
    const ends: (() => void)[] = []
    let passed = 0
    const claim = () => {
      passed++
      return new Promise<void>((resolve) => void ends.push(resolve))
    }
    const pass = (verdict: SignatureVerdict, address: string) => signatures.passOn(verdict, address, claim)
    const flood = Array.from({ length: 500 }, () => pass('unproven', '198.51.100.1').catch((error) => error))
    expect(passed).toBe(8)
    // Payments of other addresses, and proven payments, are passed on.
    const others = [pass('unproven', '198.51.100.2'), pass('good', '198.51.100.1')]
    expect(passed).toBe(10)
    for (const end of ends) end()
    const refused = (await Promise.all(flood)).filter((each) => each !== undefined)
    expect(refused).toHaveLength(492)
    expect(refused[0]).toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: 1,
      detail: { limit_source: 'address_payments', limit: 8 },
    })
    await Promise.all(others)
    const again = pass('unproven', '198.51.100.1')
    expect(passed).toBe(11)
    ends.at(-1)?.()
    await again
  })
})
