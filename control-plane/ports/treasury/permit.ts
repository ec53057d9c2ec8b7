import type { Hex } from 'viem'
import { parseAbi, parseSignature } from 'viem'
import { getAddress } from 'viem/utils'

// EIP-2612 of the token: a wallet lets a spender take tokens, by a signature that anybody can submit to the chain.

/** A wallet's permit for a spender. Addresses are in lower case, the value is in the token's units. */
export type Permit = {
  readonly chainId: number
  readonly asset: string
  readonly assetName: string
  readonly assetVersion: string
  readonly owner: string
  readonly spender: string
  readonly value: bigint
  readonly nonce: bigint
  /** Unix seconds, included. */
  readonly deadline: bigint
}

const MEMBERS = [
  { name: 'owner', type: 'address' },
  { name: 'spender', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'nonce', type: 'uint256' },
  { name: 'deadline', type: 'uint256' },
] as const

const TOKEN = parseAbi([
  'function permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
  'function transferFrom(address,address,uint256) returns (bool)',
])

/** The data to sign, in the form of EIP-712. */
export function permitDataOf(permit: Permit) {
  const { chainId, asset, assetName, assetVersion, owner, spender, value, nonce, deadline } = permit
  return {
    domain: { name: assetName, version: assetVersion, chainId, verifyingContract: getAddress(asset) },
    types: { Permit: MEMBERS },
    primaryType: 'Permit',
    message: { owner: getAddress(owner), spender: getAddress(spender), value, nonce, deadline },
  } as const
}

/** The call of the token that submits a permit. */
export function permitCallOf(permit: Permit, signature: Hex) {
  const { owner, spender, value, deadline } = permitDataOf(permit).message
  const { r, s, yParity } = parseSignature(signature)
  return { abi: TOKEN, functionName: 'permit', args: [owner, spender, value, deadline, 27 + yParity, r, s] } as const
}

/** The call by which a spender takes tokens within a wallet's allowance. */
export function takeCallOf({
  from,
  to,
  amount,
}: Readonly<Record<'from' | 'to', string>> & { readonly amount: bigint }) {
  return { abi: TOKEN, functionName: 'transferFrom', args: [getAddress(from), getAddress(to), amount] } as const
}
