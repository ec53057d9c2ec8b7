import type { Hex } from 'viem'
import { encodeFunctionData, keccak256, parseAbi, parseSignature, stringToHex } from 'viem'
import { getAddress } from 'viem/utils'
import type { AccountId } from '#shared/ids.ts'

// EIP-3009 of the token. An authorization names its nonce, and the token accepts a nonce of an authorizer once.

/** Only the recipient can submit `receive` to the chain; anybody can submit `transfer`. */
export type AuthorizationKind = 'transfer' | 'receive'

/** Money that a payer sends to a recipient. Addresses are in lower case, the amount is in the token's units. */
export type Authorization = {
  readonly kind: AuthorizationKind
  readonly chainId: number
  readonly asset: string
  readonly assetName: string
  readonly assetVersion: string
  readonly payer: string
  readonly recipient: string
  readonly amount: bigint
  /** Unix seconds, excluded. */
  readonly validBefore: bigint
  readonly nonce: Hex
}

const MEMBERS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const

const NAMES = { transfer: 'TransferWithAuthorization', receive: 'ReceiveWithAuthorization' } as const

const TOKEN = parseAbi([
  'function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
  'function receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
])

/**
 * The nonce of a deposit or of an older transfer. It depends on the id alone, so two signatures for one id can never
 * both be used.
 */
export function nonceOf(id: string): Hex {
  return keccak256(stringToHex(`transfer ${id}`))
}

/**
 * The name of a transfer out of the treasury: recipient, seller, and number among the transfers with both, from 1.
 */
export type TransferName = {
  /** Null for a sweep. */
  readonly seller: AccountId | null
  readonly recipient: string
  readonly number: bigint
}

/**
 * The nonce of a transfer by its name. Books that lost a transfer and plan it again give it the same nonce, so the
 * token refuses the second. On the chain, the nonce identifies the owner of a transfer.
 */
export function nonceOfTransfer({ seller, recipient, number }: TransferName): Hex {
  return keccak256(stringToHex(`transfer ${seller ?? 'sweep'} ${recipient} ${number}`))
}

/** The data to sign, in the form of EIP-712. */
export function typedDataOf(authorization: Authorization) {
  const { kind, chainId, asset, assetName, assetVersion, payer, recipient, amount, validBefore, nonce } = authorization
  const primaryType = NAMES[kind]
  return {
    domain: { name: assetName, version: assetVersion, chainId, verifyingContract: getAddress(asset) },
    types: { [primaryType]: MEMBERS },
    primaryType,
    message: {
      from: getAddress(payer),
      to: getAddress(recipient),
      value: amount,
      validAfter: 0n,
      validBefore,
      nonce,
    },
  } as const
}

/** The call of the token that uses an authorization. */
export function useOf(authorization: Authorization, signature: Hex) {
  const { from, to, value, validAfter, validBefore, nonce } = typedDataOf(authorization).message
  const { r, s, yParity } = parseSignature(signature)
  return {
    abi: TOKEN,
    functionName: authorization.kind === 'receive' ? 'receiveWithAuthorization' : 'transferWithAuthorization',
    args: [from, to, value, validAfter, validBefore, nonce, 27 + yParity, r, s],
  } as const
}

export function calldataOf(authorization: Authorization, signature: Hex): Hex {
  return encodeFunctionData(useOf(authorization, signature))
}
