import type { Address, Hex } from 'viem'
import { encodeAbiParameters, keccak256, pad, toHex } from 'viem'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { CONTRACTS } from './addresses.ts'
import type { ContractName } from './artifacts.ts'
import { CONTRACT_NAMES, readArtifacts } from './artifacts.ts'

/** The money of one wallet at the birth of a chain. */
export type Funding = {
  readonly address: Address
  /** Micro-USD. */
  readonly usdcMicro: bigint
  /** Wei of ETH, which pays for transactions. */
  readonly wei: bigint
}

/** Slots of `LocalUsdc`, as its source says. */
const BALANCES_SLOT = 0n
const SUPPLY_SLOT = 1n
const RPC_LIMIT_MS = 10_000

/** A call of the chain's JSON-RPC: its method and parameters. */
export type RpcCall = readonly [method: string, params: readonly unknown[]]

const AnswersSchema = z.array(
  z.object({ result: z.unknown().optional(), error: z.object({ message: z.string() }).optional() }),
)

/** Makes calls in one batch, in order. Throws AppError with the first refusal's text. */
export async function callChain(url: string, calls: readonly RpcCall[]): Promise<readonly unknown[]> {
  const body = calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }))
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(RPC_LIMIT_MS),
  })
  const answers = AnswersSchema.parse(await reply.json())
  const refused = answers.find(({ error }) => error !== undefined)
  if (refused?.error) throw new AppError('internal_error', { message: `the chain refused: ${refused.error.message}` })
  return answers.map(({ result }) => result)
}

/**
 * Gives a chain its contracts. A chain without them is new, and gets the funds, too. Answers whether it was new. The
 * contracts are placed last, so a start that was cut short is done again in full.
 */
export async function placeContracts(url: string, funds: readonly Funding[]): Promise<boolean> {
  const { runtime } = readArtifacts()
  const codes = await callChain(
    url,
    CONTRACT_NAMES.map((name) => ['eth_getCode', [CONTRACTS[name], 'latest']]),
  )
  const missing = CONTRACT_NAMES.filter((_, index) => codes[index] === '0x')
  const isNew = missing.length > 0
  await callChain(url, [
    ...(isNew ? funds.flatMap(fundingCalls) : []),
    ...(isNew ? [supplyCall(funds)] : []),
    // Contracts of an older version of this repository are replaced; their storage stays.
    ...CONTRACT_NAMES.map((name): RpcCall => ['anvil_setCode', [CONTRACTS[name], codeOf(runtime, name)]]),
    ['evm_mine', []],
  ])
  return isNew
}

/** Gives wallets of a development chain exactly this money, out of nothing. It is there at once and in the next block. */
export async function fundWallets(url: string, funds: readonly Funding[]): Promise<void> {
  await callChain(url, funds.flatMap(fundingCalls))
}

function codeOf(runtime: Readonly<Record<ContractName, Hex>>, name: ContractName): Hex {
  return runtime[name]
}

function fundingCalls({ address, usdcMicro, wei }: Funding): RpcCall[] {
  const slot = keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [address, BALANCES_SLOT]))
  return [
    ['anvil_setStorageAt', [CONTRACTS.LocalUsdc, slot, wordOf(usdcMicro)]],
    ['anvil_setBalance', [address, toHex(wei)]],
  ]
}

function supplyCall(funds: readonly Funding[]): RpcCall {
  const supply = funds.reduce((sum, { usdcMicro }) => sum + usdcMicro, 0n)
  return ['anvil_setStorageAt', [CONTRACTS.LocalUsdc, wordOf(SUPPLY_SLOT), wordOf(supply)]]
}

function wordOf(value: bigint): Hex {
  return pad(toHex(value), { size: 32 })
}
