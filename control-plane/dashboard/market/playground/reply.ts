import { at } from '#control-plane/dashboard/data/answer-of.ts'

/** A part of an answer beside its text. */
export type Media = {
  readonly kind: 'picture' | 'sound' | 'film' | 'file'
  readonly url: string
  readonly name: string
  /** The path at the API under which the market loads a file that is at its provider's address. */
  readonly path?: string
}

/** An answer as far as it is known. */
export type ModelReply = {
  readonly state: 'waiting' | 'answering' | 'done' | 'stopped' | 'failed'
  readonly text: string
  /** The reasoning that the model shows. */
  readonly thoughts: string
  readonly media: readonly Media[]
  /** Progress of a job in words, while it runs. */
  readonly progress: string | undefined
  readonly firstMs: number | undefined
  readonly tookMs: number | undefined
  readonly costMicro: number | undefined
  readonly provider: string | undefined
  readonly requestId: string | undefined
  /** True where the limit cut the answer short. */
  readonly isCut: boolean
  readonly error: Error | undefined
}

export const WAITING: ModelReply = {
  state: 'waiting',
  text: '',
  thoughts: '',
  media: [],
  progress: undefined,
  firstMs: undefined,
  tookMs: undefined,
  costMicro: undefined,
  provider: undefined,
  requestId: undefined,
  isCut: false,
  error: undefined,
}

export const isOpen = ({ state }: ModelReply) => state === 'waiting' || state === 'answering'

/** The facts in the headers of an answer. */
export function headFacts(headers: Headers): Partial<ModelReply> {
  const cost = headers.get('x-mkt-buyer-cost-micro')
  return {
    ...factOf('provider', headers.get('x-mkt-provider-family')),
    ...factOf('requestId', headers.get('x-request-id')),
    ...(cost === null ? {} : { costMicro: Number(cost) }),
  }
}

/** The cost and the provider in the body of an answer, or in an event of it. */
export function bodyFacts(body: unknown): Partial<ModelReply> {
  const cost = at(body, 'usage', 'buyer_cost_micro')
  return { ...factOf('provider', at(body, 'provider')), ...(typeof cost === 'number' ? { costMicro: cost } : {}) }
}

function factOf(name: 'provider' | 'requestId', value: unknown): Partial<ModelReply> {
  return typeof value === 'string' ? { [name]: value } : {}
}
