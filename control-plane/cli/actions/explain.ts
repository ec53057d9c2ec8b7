import { z } from 'zod'
import { dollars, percent, yesNo } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { headersOf, readBody } from './chat.ts'

const Shown = { offer: z.string(), provider: z.string(), trusted: z.boolean(), discount_pct: z.number() }
const Explanation = z.looseObject({
  would_serve: z.boolean(),
  model: z.string(),
  hold_micro: z.number().nullable(),
  min_discount_pct: z.number().nullable(),
  offers: z.array(z.looseObject({ ...Shown, rank: z.number(), estimate_micro: z.number() })),
  excluded: z.array(z.looseObject({ ...Shown, reason: z.string() })),
  excluded_total: z.number(),
  refusal: z
    .looseObject({ status: z.number(), error: z.looseObject({ message: z.string(), code: z.string().nullish() }) })
    .nullable(),
})

/**
 * Shows where a call would go now, and why not to the other offers. Nothing is sent to a provider and nothing is
 * charged.
 */
export const explainRoute: Action = async (cli, given) => {
  const body = await readBody(cli, { ...given, args: given.args.length === 0 ? ['Hello.'] : given.args })
  const question = { path: '/v1/chat/completions', body }
  const headers = headersOf(given.options)
  const answer = await cli.connection.call('POST', '/v1/route/explain', { side: 'buyer', body: question, headers })
  const { offers, excluded, refusal, ...route } = readAnswer(Explanation, answer)
  const head = facts({
    model: route.model,
    'would serve': yesNo(route.would_serve),
    'set aside': dollars(route.hold_micro),
    'least discount': percent(route.min_discount_pct),
    ...(refusal === null ? {} : { refusal: `${refusal.error.code ?? refusal.status}: ${refusal.error.message}` }),
  })
  const ranked = table(
    offers,
    [
      { title: '#', alignsRight: true, value: ({ rank }) => rank },
      { title: 'OFFER', value: ({ offer }) => offer },
      { title: 'PROVIDER', value: ({ provider }) => provider },
      { title: 'OFF', alignsRight: true, value: (offer) => percent(offer.discount_pct) },
      { title: 'AT MOST', alignsRight: true, value: (offer) => dollars(offer.estimate_micro) },
    ],
    'No offer would serve this call.',
  )
  const others = table(excluded, [
    { title: 'NOT THIS OFFER', value: ({ offer }) => offer },
    { title: 'PROVIDER', value: ({ provider }) => provider },
    { title: 'OFF', alignsRight: true, value: (offer) => percent(offer.discount_pct) },
    { title: 'BECAUSE OF', value: ({ reason }) => reason },
  ])
  return { json: answer, blocks: [head, ranked, ...(excluded.length === 0 ? [] : [others])] }
}
