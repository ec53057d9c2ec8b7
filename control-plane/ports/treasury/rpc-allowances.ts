import type { Hex, PublicClient } from 'viem'
import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem'
import { getAddress } from 'viem/utils'
import { askMany } from './ask-many.ts'
import type { AllowanceQuery, WalletReading } from './treasury-chain.ts'

/** Most wallets of one request. Each takes two reads of the token. */
const WALLETS_A_READ = 100

const TOKEN = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function allowance(address, address) view returns (uint256)',
  'function nonces(address) view returns (uint256)',
])

/** Reads wallets' balances and allowances for a spender. Throws when the token does not answer. */
export async function readAllowances(
  client: PublicClient,
  { asset, spender, wallets }: AllowanceQuery,
): Promise<Map<string, WalletReading>> {
  const readings = new Map<string, WalletReading>()
  for (let at = 0; at < wallets.length; at += WALLETS_A_READ) {
    const some = wallets.slice(at, at + WALLETS_A_READ)
    const calls = some.flatMap((wallet) => readsOf(wallet, spender))
    const answers = await askMany(client, { target: asset, calls })
    for (const [index, wallet] of some.entries()) {
      const [balance, allowance] = [answers[2 * index], answers[2 * index + 1]]
      if (balance?.success !== true || allowance?.success !== true) throw new Error('the token did not answer')
      readings.set(wallet, {
        balance: decodeFunctionResult({ abi: TOKEN, functionName: 'balanceOf', data: balance.returnData }),
        allowance: decodeFunctionResult({ abi: TOKEN, functionName: 'allowance', data: allowance.returnData }),
      })
    }
  }
  return readings
}

function readsOf(wallet: string, spender: string): Hex[] {
  const owner = getAddress(wallet)
  return [
    encodeFunctionData({ abi: TOKEN, functionName: 'balanceOf', args: [owner] }),
    encodeFunctionData({ abi: TOKEN, functionName: 'allowance', args: [owner, getAddress(spender)] }),
  ]
}

export function readPermitNonce(client: PublicClient, asset: string, owner: string): Promise<bigint> {
  return client.readContract({
    address: getAddress(asset),
    abi: TOKEN,
    functionName: 'nonces',
    args: [getAddress(owner)],
  })
}
