import type { Hex, PublicClient } from 'viem'
import { parseAbi } from 'viem'
import { getAddress } from 'viem/utils'
import { PERMIT2 } from '#shared/chain-terms.ts'
import { asHex } from '#shared/hex.ts'
import type { PayerPurse, PaymentOnChain, PurseQuestion } from './chain.ts'
import { MULTICALL } from './multicall.ts'

const TOKEN = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function allowance(address, address) view returns (uint256)',
  'function nonces(address) view returns (uint256)',
  'function authorizationState(address, bytes32) view returns (bool)',
])
const NONCES = parseAbi(['function nonceBitmap(address, uint256) view returns (uint256)'])

/** Reads a payer's money in one call, as of one block. */
export async function readPurse(
  client: PublicClient,
  { asset, payer }: Pick<PaymentOnChain, 'asset' | 'payer'>,
  { nonces, hasAllowance, hasPermit }: PurseQuestion,
): Promise<PayerPurse> {
  const [owner, token] = [getAddress(payer), { address: getAddress(asset), abi: TOKEN }]
  const figures = [
    { ...token, functionName: 'balanceOf', args: [owner] } as const,
    ...(hasAllowance ? [{ ...token, functionName: 'allowance', args: [owner, PERMIT2] } as const] : []),
    ...(hasPermit ? [{ ...token, functionName: 'nonces', args: [owner] } as const] : []),
  ]
  const calls = nonces.map((nonce) => useOf(nonce, { owner, token: token.address }))
  const contracts = [...figures, ...calls]
  // Zero puts all reads into one call.
  const answers = await client.multicall({
    contracts,
    multicallAddress: MULTICALL,
    allowFailure: false,
    batchSize: 0,
  })
  const figure = (name: (typeof figures)[number]['functionName']) =>
    BigInt(answers[figures.findIndex(({ functionName }) => functionName === name)] ?? 0n)
  const words = answers.slice(figures.length)
  return {
    balance: figure('balanceOf'),
    allowance: figure('allowance'),
    nextPermit: figure('nonces'),
    used: new Set(nonces.filter((nonce, index) => isUsed(nonce, words[index]))),
  }
}

/** The read that shows whether a nonce is used: a flag of EIP-3009, or one of the 256 bits in a word of Permit2. */
function useOf(nonce: string, { owner, token }: { readonly owner: Hex; readonly token: Hex }) {
  return nonce.startsWith('0x')
    ? ({ address: token, abi: TOKEN, functionName: 'authorizationState', args: [owner, asHex(nonce)] } as const)
    : ({ address: PERMIT2, abi: NONCES, functionName: 'nonceBitmap', args: [owner, BigInt(nonce) >> 8n] } as const)
}

function isUsed(nonce: string, word: boolean | bigint | undefined): boolean {
  return typeof word === 'bigint' ? ((word >> (BigInt(nonce) & 0xffn)) & 1n) === 1n : word === true
}
