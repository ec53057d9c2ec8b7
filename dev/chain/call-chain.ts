import { z } from 'zod'
import { AppError } from '#shared/errors.ts'

const RPC_LIMIT_MS = 10_000

/** A call of the chain's JSON-RPC: its method and parameters. */
export type RpcCall = readonly [method: string, params: readonly unknown[]]

const AnswersSchema = z.array(
  z.object({ result: z.unknown().optional(), error: z.object({ message: z.string() }).optional() }),
)

/** Makes calls in one batch, in order. Throws AppError with the text of the first error. */
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
