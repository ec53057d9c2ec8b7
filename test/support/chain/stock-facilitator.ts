import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { x402Facilitator } from '@x402/core/facilitator'
import type { SettleResponse } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import { createWalletClient, http, publicActions, verifyTypedData } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import { fundWallets } from '#dev/chain/fund-wallets.ts'
import type { TestChain } from './chain.ts'
import { CHAIN } from './chain.ts'

const NETWORK = 'eip155:8453'
const POLLING_MS = 20
const ONE_ETH = 10n ** 18n

type Path = '/verify' | '/settle' | '/supported'

/** The answer of a lying facilitator: any bytes, no answer, or a change of the honest answer. */
export type Lie =
  | { readonly status?: number; readonly type?: string; readonly body: string; readonly location?: string }
  | 'silence'
  | ((honest: SettleResponse) => object)

/** A facilitator of a third party: the stock packages behind their standard paths, with a key of its own. */
export type StockFacilitator = {
  readonly url: string
  /** Lies on a path from now on. A function receives the honest answer, so the honest work is done. */
  lie(path: Path, lie: Lie): void
  honest(): void
  /** Payments that the facilitator was asked to settle. */
  settlements(): number
  close(): Promise<void>
}

const AskSchema = z.object({ paymentPayload: z.any(), paymentRequirements: z.any() })

export async function stockFacilitator(chain: TestChain): Promise<StockFacilitator> {
  const account = privateKeyToAccount(generatePrivateKey())
  await fundWallets(chain.rpcUrl, [{ address: account.address, usdcMicro: 0n, wei: ONE_ETH }])
  const wallet = createWalletClient({
    account,
    chain: CHAIN,
    transport: http(chain.rpcUrl),
    pollingInterval: POLLING_MS,
  }).extend(publicActions)
  const signer = toFacilitatorEvmSigner({
    ...wallet,
    address: account.address,
    verifyTypedData: (signed) => verifyTypedData(signed),
  })
  const schemes = new x402Facilitator()
    .register(NETWORK, new UptoEvmScheme(signer))
    .register(NETWORK, new ExactEvmScheme(signer))
    .registerExtension({ key: 'eip2612GasSponsoring' })
  const lies = new Map<string, Lie>()
  let settlements = 0

  async function answer(path: string, body: string): Promise<object> {
    if (path === '/supported') return schemes.getSupported()
    const { paymentPayload, paymentRequirements } = AskSchema.parse(JSON.parse(body))
    if (path === '/verify') return schemes.verify(paymentPayload, paymentRequirements)
    settlements += 1
    const lie = lies.get(path)
    const settled = await schemes.settle(paymentPayload, paymentRequirements)
    return typeof lie === 'function' ? lie(settled) : settled
  }

  async function serve(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    const body = (await request.setEncoding('utf8').toArray()).join('')
    const lie = lies.get(path)
    if (lie === 'silence') return
    if (typeof lie === 'object') {
      if (path === '/settle') settlements += 1
      const location = lie.location === undefined ? {} : { location: lie.location }
      reply.writeHead(lie.status ?? 200, { 'content-type': lie.type ?? 'application/json', ...location }).end(lie.body)
      return
    }
    const told = await answer(path, body).catch((error: unknown) => ({ error: String(error) }))
    reply.writeHead('error' in told ? 500 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(told))
  }

  const server = createServer((request, reply) => void serve(request, reply))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: urlOf(server),
    lie: (path, lie) => void lies.set(path, lie),
    honest: () => lies.clear(),
    settlements: () => settlements,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function urlOf(server: Server): string {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('there is no address')
  return `http://127.0.0.1:${address.port}`
}
