import type { Hex } from 'viem'
import { hashTypedData } from 'viem/utils'
import { PERMIT2 } from '#shared/chain-terms.ts'
import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import { chainIdOf } from '#shared/contract/chain-payments.ts'
import { lowerHex } from '#shared/hex.ts'
import type { ExactSigned, UptoSigned } from './payment-header.ts'

const TRANSFER = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** The hash that a payer signs for an exact payment (EIP-3009). */
export function exactHash(terms: PaymentTerms, { authorization }: ExactSigned): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  return hashTypedData({
    domain: {
      name: terms.assetName,
      version: terms.assetVersion,
      chainId: chainIdOf(terms.network),
      verifyingContract: lowerHex(terms.asset),
    },
    types: TRANSFER,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: lowerHex(from),
      to: lowerHex(to),
      nonce: lowerHex(nonce),
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
  })
}

const PERMIT = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'facilitator', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
} as const

/** The hash that a payer signs for a payment up to an amount (Permit2, with the witness of x402's proxy). */
export function uptoHash(terms: PaymentTerms, { permit2Authorization }: UptoSigned): Hex {
  const { permitted, spender, nonce, deadline, witness } = permit2Authorization
  return hashTypedData({
    domain: { name: 'Permit2', chainId: chainIdOf(terms.network), verifyingContract: PERMIT2 },
    types: PERMIT,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token: lowerHex(permitted.token), amount: BigInt(permitted.amount) },
      spender: lowerHex(spender),
      nonce: BigInt(nonce),
      deadline: BigInt(deadline),
      witness: {
        to: lowerHex(witness.to),
        facilitator: lowerHex(witness.facilitator),
        validAfter: BigInt(witness.validAfter),
      },
    },
  })
}
