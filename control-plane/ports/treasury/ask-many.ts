import type { Hex, PublicClient } from 'viem'
import { decodeFunctionResult, encodeFunctionData } from 'viem'
import { getAddress } from 'viem/utils'
import { MULTICALL, MULTICALL_ABI, manyCalls } from '#control-plane/ports/chain/multicall.ts'

type Many = { readonly target: string; readonly calls: readonly Hex[]; readonly from?: string; readonly block?: bigint }

/** Makes many calls of one contract in one request. */
export async function askMany(client: PublicClient, { target, calls, from, block }: Many) {
  const { data = '0x' } = await client.call({
    to: MULTICALL,
    data: encodeFunctionData({
      abi: MULTICALL_ABI,
      functionName: 'aggregate3',
      args: manyCalls(getAddress(target), calls),
    }),
    ...(from === undefined ? {} : { account: getAddress(from) }),
    ...(block === undefined ? {} : { blockNumber: block }),
  })
  return decodeFunctionResult({ abi: MULTICALL_ABI, functionName: 'aggregate3', data })
}
