import type { Hex } from 'viem'
import { concat, hashMessage, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { createWalletSignatures } from '#data-plane/rails/wallet-signature.ts'
import { createManualTime } from './fixtures/manual-time.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const payer = privateKeyToAccount(generatePrivateKey())
const stranger = privateKeyToAccount(generatePrivateKey())
const hash = hashMessage('what is paid')
const wallet = payer.address
const signature = await payer.sign({ hash })

/** The same signature with the other s, and the v that goes with it. */
function withHighS(of: Hex): Hex {
  const s = ORDER - BigInt(`0x${of.slice(66, 130)}`)
  return concat([asHex(of.slice(2, 66)), toHex(s, { size: 32 }), of.endsWith('1b') ? '0x1c' : '0x1b'])
}

const asHex = (digits: string): Hex => `0x${digits}`

/** A world in which some wallets are contracts. Null is a desk that does not know. */
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
  it('C275: of its wallet is good, and nobody is asked', async () => {
    const { asked, signatures } = world()
    for (const given of [signature, `0x${signature.slice(2).toUpperCase()}`]) {
      expect(await signatures.mayBeGood({ hash, signature: given, wallet })).toBe(true)
    }
    expect(asked).toEqual([])
  })

  it.each<[string, () => Hex | Promise<Hex>]>([
    ['of somebody else', () => stranger.sign({ hash })],
    ['of something else', () => payer.sign({ hash: hashMessage('something else') })],
    ['with a high s', () => withHighS(signature)],
    ['with a v of 0 or 1', () => asHex(signature.slice(2, 130) + (signature.endsWith('1b') ? '00' : '01'))],
    ['in the short form', () => asHex(signature.slice(2, 130))],
    ['of zeros', () => `0x${'00'.repeat(64)}1b`],
    ['that is no point', () => `0x${'ff'.repeat(32)}${'11'.repeat(32)}1b`],
    ['of one byte', () => '0x00'],
  ])('C275: %s is refused for a plain wallet, and left to the facilitator for a contract', async (_what, make) => {
    const forged = { hash, wallet, signature: await make() }
    expect(await world([]).signatures.mayBeGood(forged)).toBe(false)
    expect(await world([wallet]).signatures.mayBeGood(forged)).toBe(true)
    // While nobody knows, it is not refused.
    expect(await world(null).signatures.mayBeGood(forged)).toBe(true)
  })

  it('of a contract that is not deployed yet is left to the facilitator', async () => {
    const { asked, signatures } = world([])
    expect(await signatures.mayBeGood({ hash, wallet, signature: `0x1234${'6492'.repeat(16)}` })).toBe(true)
    expect(asked).toEqual([])
  })

  it('asks once about a wallet for half a minute, however many forgeries come', async () => {
    const { pass, asked, signatures } = world([])
    const forged = { hash, wallet, signature: await stranger.sign({ hash }) }
    await Promise.all(Array.from({ length: 20 }, () => signatures.mayBeGood(forged)))
    await pass(29_000)
    expect(await signatures.mayBeGood(forged)).toBe(false)
    expect(asked).toHaveLength(1)
    await pass(2_000)
    expect(await signatures.mayBeGood(forged)).toBe(false)
    expect(asked).toHaveLength(2)
  })

  it('is left to the facilitator beyond a hundred checks a second', async () => {
    const { pass, signatures } = world([])
    const forged = { hash, wallet, signature: '0x00' }
    const verdicts = await Promise.all(Array.from({ length: 120 }, () => signatures.mayBeGood(forged)))
    expect(verdicts.filter((mayBeGood) => !mayBeGood)).toHaveLength(100)
    await pass(1_000)
    expect(await signatures.mayBeGood(forged)).toBe(false)
  })
})
