import type { EFFORTS, SIZES } from './choices.ts'
import { VOICES } from './choices.ts'
import type { Making, ModelColumn, ShownColumn } from './columns.ts'
import { anyHeeds } from './columns.ts'

/** The answer's limit unless the reader sets one, so that a first call costs little. */
const USUAL_TOKENS = 1_024

/** The settings of all columns. Undefined leaves a value to the model. */
export type CallSettings = {
  readonly system: string
  readonly tokens?: number | undefined
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly effort?: (typeof EFFORTS)[number] | undefined
  readonly voice?: (typeof VOICES)[number] | undefined
  readonly size?: (typeof SIZES)[number] | undefined
  readonly seconds?: number | undefined
}

/** A picture that goes with a question, read in the browser. */
export type Picture = { readonly name: string; readonly bytes: number; readonly url: string }
export type Question = { readonly text: string; readonly pictures: readonly Picture[] }
/** A question with the answer that a column gave. */
export type ChatExchange = { readonly question: Question; readonly answer: string }

/** A call of the API as the playground makes it. */
export type ApiCall = { readonly path: string; readonly body: Readonly<Record<string, unknown>> }

type ChatInput = {
  readonly settings: CallSettings
  readonly exchanges: readonly ChatExchange[]
  readonly question: Question
}

const CALLS: { readonly [Kind in Making]: (column: ShownColumn, asked: ChatInput) => ApiCall } = {
  chat: chatCall,
  image: (column, { settings: { size }, question: { text, pictures } }) => ({
    path: '/v1/images/generations',
    body: {
      ...target(column),
      prompt: text,
      ...(size !== undefined && anyHeeds([column], 'size') ? { size } : {}),
      ...(pictures.length === 0 ? {} : { images: pictures.map(({ url }) => ({ image_url: url })) }),
      response_format: 'b64_json',
    },
  }),
  speech: (column, { settings: { voice = VOICES[0] }, question }) => ({
    path: '/v1/audio/speech',
    body: { ...target(column), voice, input: question.text },
  }),
  film: (column, { settings: { seconds }, question: { text, pictures } }) => ({
    path: '/v1/video/generations',
    body: {
      ...target(column),
      prompt: text,
      ...(seconds === undefined ? {} : { seconds }),
      ...(pictures[0] === undefined ? {} : { image_url: pictures[0].url }),
    },
  }),
  music: (column, { settings: { seconds }, question }) => ({
    path: '/v1/music/generations',
    body: { ...target(column), prompt: question.text, ...(seconds === undefined ? {} : { seconds }) },
  }),
}

/** The call that asks a column a question, with the turns before it. */
export function callOf(column: ShownColumn, asked: ChatInput): ApiCall {
  return CALLS[column.making](column, asked)
}

/** True for the answers that jobs make. A job names its own cost. */
export const isJob = ({ making }: Pick<ShownColumn, 'making'>) => making === 'film' || making === 'music'

function target({ model, provider }: ModelColumn) {
  return { model, ...(provider === undefined ? {} : { provider: { only: [provider] } }) }
}

function chatCall(column: ShownColumn, { settings, exchanges, question }: ChatInput): ApiCall {
  const { system, temperature, topP, effort, tokens } = settings
  const most = column.market?.maxCompletionTokens
  const usual = most === undefined || most <= 0 ? USUAL_TOKENS : Math.min(USUAL_TOKENS, most)
  const before = exchanges.flatMap(({ question: earlier, answer }) => [
    { role: 'user', content: contentOf(earlier) },
    { role: 'assistant', content: answer },
  ])
  const heeds = (...names: readonly string[]) => anyHeeds([column], ...names)
  return {
    path: '/v1/chat/completions',
    body: {
      ...target(column),
      messages: [
        ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
        ...before,
        { role: 'user', content: contentOf(question) },
      ],
      max_tokens: tokens ?? usual,
      ...(temperature !== undefined && heeds('temperature') ? { temperature } : {}),
      ...(topP !== undefined && heeds('top_p') ? { top_p: topP } : {}),
      ...(effort !== undefined && heeds('reasoning_effort', 'reasoning') ? { reasoning_effort: effort } : {}),
      stream: true,
    },
  }
}

function contentOf({ text, pictures }: Question) {
  if (pictures.length === 0) return text
  return [{ type: 'text', text }, ...pictures.map(({ url }) => ({ type: 'image_url', image_url: { url } }))]
}
