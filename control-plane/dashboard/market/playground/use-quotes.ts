import { useEffect, useState } from 'react'
import { at } from '#control-plane/dashboard/data/answer-of.ts'
import { MarketError, toMarketError } from '#control-plane/dashboard/data/client.ts'
import type { PayingCall } from '#control-plane/dashboard/data/paid-call.ts'
import type { CallSettings, Question } from './call-of.ts'
import { callOf } from './call-of.ts'
import type { ShownColumn } from './columns.ts'
import type { RoutedOffer } from './read-record.ts'
import { listOf, offerOf } from './read-record.ts'
import type { ChatTurn } from './use-conversation.ts'
import { exchangesWith } from './use-conversation.ts'

/** A question is quoted once the typing pauses. */
const PAUSE_MS = 600

/** The offers that a call would try now, each with its highest cost, or the reason why the call would be refused. */
export type PriceQuote = { readonly offers: readonly RoutedOffer[]; readonly refusal: string | undefined }

type QuoteRequest = {
  readonly columns: readonly ShownColumn[]
  readonly settings: CallSettings
  readonly question: Question
  readonly turns: readonly ChatTurn[]
}

/** The quote of each column for the typed text. A quote costs nothing. */
export function useQuotes(paid: PayingCall, asked: QuoteRequest): Readonly<Record<string, PriceQuote>> {
  const [quotes, setQuotes] = useState<Readonly<Record<string, PriceQuote>>>({})
  const { columns, settings, question, turns } = asked
  useEffect(() => {
    if (question.text.trim() === '') {
      setQuotes((before) => (Object.keys(before).length === 0 ? before : {}))
      return undefined
    }
    const leaving = new AbortController()
    const timer = setTimeout(() => {
      for (const column of columns) {
        const call = callOf(column, { settings, question, exchanges: exchangesWith(turns, column.id) })
        quoteOf(paid, call, leaving.signal).then(
          (quote) => setQuotes((before) => ({ ...before, [column.id]: quote })),
          () => undefined,
        )
      }
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [paid, columns, settings, question, turns])
  return quotes
}

async function quoteOf(paid: PayingCall, call: object, signal: AbortSignal): Promise<PriceQuote> {
  try {
    const read: unknown = await (await paid('/v1/route/explain', { body: call, signal })).json()
    const refusal = at(read, 'refusal', 'error', 'message')
    return {
      offers: listOf(at(read, 'offers')).map(offerOf),
      refusal: typeof refusal === 'string' ? refusal : undefined,
    }
  } catch (thrown) {
    if (signal.aborted || !(thrown instanceof MarketError)) throw thrown
    return { offers: [], refusal: toMarketError(thrown).message }
  }
}
