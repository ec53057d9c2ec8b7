import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { PayingCall } from '#control-plane/dashboard/data/paid-call.ts'
import type { Answering } from './answer-chat.ts'
import { answerChat } from './answer-chat.ts'
import { answerJob, answerPicture, answerSpeech } from './answer-media.ts'
import type { ApiCall, CallSettings, ChatExchange, Question } from './call-of.ts'
import { callOf, isJob } from './call-of.ts'
import type { Making, ShownColumn } from './columns.ts'
import { readRecord } from './read-record.ts'
import type { ModelReply } from './reply.ts'
import { isOpen, WAITING } from './reply.ts'

/** A question, with the answer of each column that was asked. */
export type ChatTurn = {
  readonly id: number
  readonly question: Question
  readonly replies: Readonly<Record<string, ModelReply>>
}

const ANSWERS: { readonly [Kind in Making]: (call: ApiCall, answering: Answering) => Promise<void> } = {
  chat: answerChat,
  image: answerPicture,
  speech: answerSpeech,
  film: answerJob,
  music: answerJob,
}

/** The turns of a column so far. A failed answer is left out. */
export function exchangesWith(turns: readonly ChatTurn[], column: string): readonly ChatExchange[] {
  return turns.flatMap(({ question, replies }) => {
    const reply = replies[column]
    return reply === undefined || reply.text === '' || reply.state === 'failed'
      ? []
      : [{ question, answer: reply.text }]
  })
}

type Ask = { readonly columns: readonly ShownColumn[]; readonly settings: CallSettings; readonly question: Question }

/** A conversation with several models at once. It is in the memory of the page alone. */
export function useConversation(paid: PayingCall) {
  const [turns, setTurns] = useState<readonly ChatTurn[]>([])
  const stop = useRef(new AbortController())
  const nextId = useRef(1)
  // Answers end when their reader leaves the screen.
  useEffect(() => {
    stop.current = new AbortController()
    return () => stop.current.abort()
  }, [])

  const know = useCallback((turn: number, column: string, facts: Partial<ModelReply>) => {
    setTurns((before) =>
      before.map((each) => {
        const reply = each.replies[column]
        if (each.id !== turn || reply === undefined) return each
        return { ...each, replies: { ...each.replies, [column]: { ...reply, ...facts } } }
      }),
    )
  }, [])

  const answer = useCallback(
    async (turn: number, column: ShownColumn, call: ApiCall) => {
      const began = performance.now()
      const { signal } = stop.current
      let known: Partial<ModelReply> = {}
      const onKnown = (facts: Partial<ModelReply>) => {
        known = { ...known, ...facts }
        know(turn, column.id, facts)
      }
      const end = (facts: Partial<ModelReply>) =>
        onKnown({ tookMs: performance.now() - began, progress: undefined, ...facts })
      try {
        await ANSWERS[column.making](call, { paid, signal, onKnown })
        end({ state: 'done' })
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error('The answer could not be read.')
        end(signal.aborted ? { state: 'stopped' } : { state: 'failed', error })
      }
      // The record has the charge of a stopped answer, and of a sound, whose bytes have no place for the cost.
      const { requestId, costMicro } = known
      if (requestId === undefined || costMicro !== undefined || isJob(column)) return
      const record = await readRecord(paid, requestId)
      if (record !== undefined) onKnown({ costMicro: record.costMicro, provider: record.provider ?? known.provider })
    },
    [paid, know],
  )

  return useMemo(
    () => ({
      turns,
      isOpen: turns.some(({ replies }) => Object.values(replies).some(isOpen)),
      ask({ columns, settings, question }: Ask) {
        const id = nextId.current++
        if (stop.current.signal.aborted) stop.current = new AbortController()
        setTurns((before) => [
          ...before,
          { id, question, replies: Object.fromEntries(columns.map((column) => [column.id, WAITING])) },
        ])
        for (const column of columns) {
          void answer(id, column, callOf(column, { settings, question, exchanges: exchangesWith(turns, column.id) }))
        }
      },
      askAgain({ id, question }: ChatTurn, column: ShownColumn, settings: CallSettings) {
        if (stop.current.signal.aborted) stop.current = new AbortController()
        const before = turns.filter((turn) => turn.id < id)
        know(id, column.id, WAITING)
        void answer(id, column, callOf(column, { settings, question, exchanges: exchangesWith(before, column.id) }))
      },
      stop: () => stop.current.abort(),
      clear() {
        stop.current.abort()
        setTurns((before) => {
          for (const { replies } of before) for (const reply of Object.values(replies)) forget(reply)
          return []
        })
      },
    }),
    [turns, answer, know],
  )
}

/** Frees the memory of sounds. */
function forget({ media }: ModelReply): void {
  for (const { url } of media) if (url.startsWith('blob:')) URL.revokeObjectURL(url)
}
