import type { OfferSums } from '#control-plane/db/offer-figures.ts'

type ShownMoney = Readonly<Record<'grossMicro' | 'feeMicro' | 'netMicro', number | null>>

/** Gross, fee and net of an offer's sales. All are null while an hour of them is not summed. */
export function shownMoney({ gross, net }: Pick<OfferSums, 'gross' | 'net'>): ShownMoney {
  if (net === null) return { grossMicro: null, feeMicro: null, netMicro: null }
  return { grossMicro: Number(gross), feeMicro: Number(gross - net), netMicro: Number(net) }
}
