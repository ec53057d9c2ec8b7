import type { Hex } from 'viem'
import { hashTypedData, keccak256, parseSignature, recoverAddress, serializeTransaction } from 'viem'
import { isAddressEqual } from 'viem/utils'
import { z } from 'zod'
import { SECOND } from '#shared/clock.ts'
import type { TreasurySigner } from './treasury-signer.ts'

const TIMEOUT_MS = 4 * SECOND
const MAX_ANSWER_CHARS = 4_096
const AnswerSchema = z.object({ signature: z.templateLiteral(['0x', z.string().regex(/^[0-9a-fA-F]{130}$/)]) })

/**
 * Calls a signer service, which keeps the key: `POST {url}` with the data to sign and its digest, answered by
 * `{"signature":"0x…"}` of 65 bytes. A signature that is not the treasury's is refused here.
 */
export function createRemoteSigner(url: string, address: Hex): TreasurySigner {
  async function sign(digest: Hex, what: object): Promise<Hex> {
    const body = JSON.stringify({ address, digest, ...what }, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    )
    const reply = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const text = await reply.text()
    if (!reply.ok || text.length > MAX_ANSWER_CHARS) throw new Error(`the signer answered ${reply.status}`)
    const { signature } = AnswerSchema.parse(JSON.parse(text))
    const signed = await recoverAddress({ hash: digest, signature })
    if (!isAddressEqual(signed, address)) throw new Error('the signer signed for another address')
    return signature
  }

  return {
    address,
    signAuthorization: (typedData) => sign(hashTypedData(typedData), { kind: 'authorization', typedData }),
    async signTransaction(transaction) {
      const unsigned = { ...transaction, type: 'eip1559' } as const
      const signature = await sign(keccak256(serializeTransaction(unsigned)), {
        kind: 'transaction',
        transaction: unsigned,
      })
      return serializeTransaction(unsigned, parseSignature(signature))
    },
  }
}
