import { z } from 'zod'
import type { OfferSums } from '#control-plane/db/offer-figures.ts'
import { Count, WholeMicro } from '#control-plane/services/view-fields.ts'

/** The calls, the money and the latency of an offer, over any time. */
export const SALES_FIELDS = {
  calls: Count.nullable().describe('Calls that were paid, or served at a price of zero.'),
  grossMicro: WholeMicro.nullable().describe('What buyers paid, in micro-USD.'),
  feeMicro: WholeMicro.nullable().describe('The fee of the market, in micro-USD.'),
  netMicro: WholeMicro.nullable().describe('What the seller earned, in micro-USD.'),
  ttftP50Ms: z
    .number()
    .nullable()
    .describe('The median time to the first token, in milliseconds. Null with fewer than five measured calls.'),
}

type ShownMoney = Readonly<Record<'grossMicro' | 'feeMicro' | 'netMicro', number | null>>

/** Gross, fee and net of an offer's sales. All are null while an hour of them is not summed. */
export function shownMoney({ gross, net }: Pick<OfferSums, 'gross' | 'net'>): ShownMoney {
  if (net === null) return { grossMicro: null, feeMicro: null, netMicro: null }
  return { grossMicro: Number(gross), feeMicro: Number(gross - net), netMicro: Number(net) }
}
