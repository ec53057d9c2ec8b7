import { z } from 'zod'
import { dollars } from '#control-plane/cli/amounts.ts'
import type { Action, Cli, CommandOptions } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { CommandFailure, usageError } from '#control-plane/cli/failure.ts'
import type { RawAnswer } from '#control-plane/cli/http.ts'
import { callRaw, failureOf } from '#control-plane/cli/http.ts'
import { facts, text } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { isSet, textOption } from '#control-plane/cli/read-options.ts'
import { headersOf, microOf, readBody } from './chat.ts'
import { openWallet } from './login.ts'

const PATH = '/v1/chat/completions'
const HEADER = 'payment-signature'
const RPC_TIMEOUT_MS = 5_000

const Requirement = z.looseObject({
  scheme: z.string(),
  network: z.templateLiteral([z.string(), ':', z.string()]),
  asset: z.string(),
  amount: z.string().regex(/^\d{1,20}$/),
  payTo: z.string(),
  maxTimeoutSeconds: z.number(),
  extra: z.record(z.string(), z.unknown()),
})
const Demand = z.looseObject({
  x402Version: z.literal(2),
  error: z.string(),
  accepts: z.array(Requirement),
  resource: z.object({ url: z.string(), description: z.string(), mimeType: z.string() }),
  extensions: z.record(z.string(), z.unknown()).optional(),
})
type Demand = z.infer<typeof Demand>

const Paid = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string().nullish() }) })),
  usage: z.looseObject({
    buyer_cost_micro: z.number(),
    payment: z.looseObject({ status: z.string(), transaction: z.string().nullable(), payer: z.string() }),
  }),
})

/** Buys one answer with a wallet, by x402: asks for the price, signs for it, and asks again with the payment. */
export const pay: Action = async (cli, given) => {
  const { options } = given
  const body = await readBody(cli, given)
  const call = { method: 'POST' as const, url: cli.connection.url + PATH, body, headers: headersOf(options) }
  const asked = await callRaw(call)
  if (asked.status !== 402) throw failureOf(asked)
  const demand = readAnswer(Demand, parsed(asked))
  const scheme = textOption(options, 'scheme') ?? 'upto'
  const requirement = demand.accepts.find((one) => one.scheme === scheme)
  if (requirement === undefined) {
    throw new CommandFailure('unavailable', `This market takes no payments by ${scheme} now.`, { code: demand.error })
  }
  await agree(cli, options, requirement)
  const header = await sign(cli, options, { demand, requirement })
  const answer = await callRaw({ ...call, headers: { ...call.headers, [HEADER]: header } })
  if (answer.status !== 200) throw refusedPayment(answer)
  const paid = readAnswer(Paid, parsed(answer))
  const { buyer_cost_micro: cost, payment } = paid.usage
  const reply = paid.choices.map(({ message }) => message.content ?? '').join('\n')
  const receipt = {
    cost: dollars(cost) ?? '',
    payer: payment.payer,
    state: payment.status,
    transaction: payment.transaction ?? '',
  }
  return { json: paid, blocks: [text(reply), facts(receipt)] }
}

function parsed({ body }: RawAnswer): unknown {
  try {
    return JSON.parse(body)
  } catch (cause) {
    throw new CommandFailure('failure', 'The answer of the market is not readable.', { cause })
  }
}

/** Refuses a price above the bound, and asks before a signature that costs money. */
async function agree(
  cli: Cli,
  options: CommandOptions,
  { amount, scheme }: z.infer<typeof Requirement>,
): Promise<void> {
  const bound = textOption(options, 'maxPayment') ?? '0.10'
  if (BigInt(amount) > BigInt(microOf('--max-payment', bound))) {
    throw usageError(
      `The call costs up to ${dollars(Number(amount))}, more than --max-payment ${bound}: nothing was signed.`,
    )
  }
  const most = scheme === 'upto' ? 'at most ' : ''
  await confirm(cli, `Pay ${most}${dollars(Number(amount))} for this call?`, isSet(options, 'yes'))
}

type Order = { readonly demand: Demand; readonly requirement: z.infer<typeof Requirement> }

async function sign(cli: Cli, options: CommandOptions, { demand, requirement }: Order): Promise<string> {
  const account = await openWallet(cli, options)
  const [{ x402Client }, { ExactEvmScheme }, { UptoEvmScheme }, { toClientEvmSigner }, { createPublicClient, http }] =
    await Promise.all([
      import('@x402/core/client'),
      import('@x402/evm/exact/client'),
      import('@x402/evm/upto/client'),
      import('@x402/evm'),
      import('viem'),
    ])
  const rpcUrl = textOption(options, 'rpcUrl')
  if (requirement.scheme === 'upto' && rpcUrl === undefined) {
    throw usageError('upto needs the chain: name its --rpc-url, or sign the price with --scheme exact.')
  }
  const reader =
    rpcUrl === undefined ? undefined : createPublicClient({ transport: http(rpcUrl, { timeout: RPC_TIMEOUT_MS }) })
  const signer = toClientEvmSigner(account, reader)
  const client = new x402Client()
    .register(requirement.network, new ExactEvmScheme(signer))
    .register(requirement.network, new UptoEvmScheme(signer))
  const { resource, extensions } = demand
  const payment = await client.createPaymentPayload({
    x402Version: 2,
    error: demand.error,
    accepts: [requirement],
    resource,
    ...(extensions === undefined ? {} : { extensions }),
  })
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}

/** The failure of a refused payment: its answer has the reason as a text in `error`, unlike other refusals. */
function refusedPayment(answer: RawAnswer): CommandFailure {
  const refusal = z.looseObject({ error: z.string() }).safeParse(parsed(answer))
  if (!refusal.success) return failureOf(answer)
  return new CommandFailure('failure', `The payment was refused: ${refusal.data.error}.`, {
    code: refusal.data.error,
    status: answer.status,
  })
}
