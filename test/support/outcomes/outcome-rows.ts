import type { Meanwhile } from './outcome-changes.ts'
import type { Acts } from './outcome-market.ts'

/** A surface other than chat on which a call of the table may be made. */
export type Surface = 'embeddings' | 'speech' | 'transcriptions' | 'pictures'

/** A way for a call to end. */
export type OutcomeRow = {
  /** The name of the row in the table. */
  readonly end: string
  readonly acts: Acts
  readonly isStreamed?: boolean
  /** The surface of the call. Chat by default. */
  readonly surface?: Surface
  /** Seconds of audio in a transcription. */
  readonly audioSeconds?: number
  /** Members of the request other than model and messages. */
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  /** The buyer. By default a buyer with credit. */
  readonly buyer?: 'nobody' | 'unknown key' | 'poor' | 'short of money' | 'capped' | 'capped by month' | 'slowed down'
  /** Prices of the model under conditions, in the form of a catalogue. */
  readonly overrides?: readonly object[]
  /** Other facts of the model, in the form of a catalogue. */
  readonly facts?: object
  /** The suffix of its model's name, by which the sample provider chooses what it bills. */
  readonly family?: string
  /** A change of the market between the first token of a stream and the next. */
  readonly meanwhile?: Meanwhile
  /** Members with a cost that the sellers allow. */
  readonly passes?: readonly string[]
  /** Daily cap of the offers in US dollars. */
  readonly offerCapUsd?: number
  /** A long job: the suffix of its model's name, and the buyer's act after the submit. */
  readonly job?: { readonly model: string; readonly buyer: 'asks' | 'cancels' }
  /** The moment at which the buyer disconnects. */
  readonly leaves?: 'before the provider answers' | 'after the first token'
  /** True for an end that a time limit brings about. The limit is shorter for this row. */
  readonly isHasty?: true
  /** Calls of the same kind just before it. The table does not show them. */
  readonly callsBefore?: number
}

export type OutcomeSection = { readonly title: string; readonly rows: readonly OutcomeRow[] }

const streamed = (end: string, ...acts: string[]): OutcomeRow => ({ end, acts, isStreamed: true })
const whole = (end: string, ...acts: string[]): OutcomeRow => ({ end, acts })
const on = (surface: Surface, end: string, ...acts: string[]): OutcomeRow => ({ end, acts, surface })
const few = { body: { max_tokens: 3 } }
const DOCUMENT = { type: 'file', file: { filename: 'a.pdf', file_data: 'https://files.example/a.pdf' } }

/** Twice the price above a size of the prompt, and in a tier. */
const LONG = [{ min_prompt_tokens: 50_000, prompt: '0.000002', completion: '0.000015' }]
const PRIORITY = {
  overrides: [{ service_tier: 'priority', prompt: '0.000002', completion: '0.00002' }],
  passes: ['service_tier'],
  body: { service_tier: 'priority' },
}

const BY_TOKENS = {
  pricing: { prompt: '0.000001', completion: '0.00001', audio_output: '0.00001' },
  unit_pricing: { seconds: '0.0001' },
}
const HEARD_BY_TOKENS = {
  pricing: { prompt: '0.000001', completion: '0.00001', audio: '0.000002' },
  unit_pricing: { characters: '0.000015' },
}
const TEN_SECONDS = { unit_pricing: { characters: '0.000015', seconds: '0.0001', minimum_seconds: 10 } }
const BY_SIZE = {
  pricing: { prompt: '0', completion: '0', overrides: [{ image_sizes: ['1792x1024'], image: '0.08' }] },
  unit_pricing: { images: '0.04' },
}

/** Every end that a call can have on a running market. */
export const OUTCOMES: readonly OutcomeSection[] = [
  {
    title: 'Answers',
    rows: [
      whole('A whole answer', 'well'),
      streamed('A streamed answer', 'well'),
      { end: 'An answer cut at `max_tokens`', acts: ['well'], ...few },
      { end: 'No `max_tokens`, and the balance covers a shorter answer only', acts: ['well'], buyer: 'short of money' },
      whole('A whole answer without a token', 'empty'),
      streamed('A streamed answer without a token', 'empty'),
      whole('The first seller’s answer is empty, the next seller’s has content', 'empty', 'well'),
      { ...whole('A whole answer of hidden reasoning alone', 'thoughts-only', 'well'), ...few },
      { ...streamed('A streamed answer of hidden reasoning alone', 'thoughts-only', 'well'), ...few },
      { ...whole('An answer that a `stop` text ends before its first word', 'stopped-at-once', 'well'), ...few },
      {
        end: 'An answer to a document whose tokens only its provider knows',
        acts: ['usage-of-document'],
        body: { max_tokens: 20, messages: [{ role: 'user', content: [DOCUMENT] }] },
      },
      {
        end: 'A provider that never stops, streamed',
        acts: ['endless'],
        isStreamed: true,
        body: { max_tokens: 20 },
      },
    ],
  },
  {
    title: 'Refusals before money is held',
    rows: [
      { end: 'No credential', acts: ['well'], buyer: 'nobody' },
      { end: 'An unknown key', acts: ['well'], buyer: 'unknown key' },
      { end: 'The balance does not cover `max_tokens`', acts: ['well'], buyer: 'poor', body: { max_tokens: 1_000 } },
      { end: 'The key’s daily cap does not cover the call', acts: ['well'], buyer: 'capped' },
      { end: 'The key’s monthly cap does not cover the call', acts: ['well'], buyer: 'capped by month' },
      { end: 'The key has used up its calls per minute', acts: ['well'], buyer: 'slowed down', callsBefore: 1 },
      {
        end: '`X-MKT-Max-Cost-Micro` covers no token',
        acts: ['well'],
        headers: { 'x-mkt-max-cost-micro': '1' },
      },
      { end: 'No seller’s daily cap has room', acts: ['well'], offerCapUsd: 0.0001 },
    ],
  },
  {
    title: 'The buyer’s own ceiling',
    rows: [
      {
        end: '`X-MKT-Max-Cost-Micro` shortens a whole answer',
        acts: ['well'],
        headers: { 'x-mkt-max-cost-micro': '120' },
      },
      {
        end: '`X-MKT-Max-Cost-Micro` shortens a stream',
        acts: ['well'],
        isStreamed: true,
        headers: { 'x-mkt-max-cost-micro': '120' },
      },
      {
        end: '`X-MKT-Max-Cost-Micro` ends the stream of a provider that ignores its limit',
        acts: ['endless'],
        isStreamed: true,
        headers: { 'x-mkt-max-cost-micro': '200' },
      },
    ],
  },
  {
    title: 'Providers that fail before content',
    rows: [
      whole('The provider is unreachable, another seller answers', 'gone', 'well'),
      streamed('The provider answers 500, another seller answers', 'server-error', 'well'),
      whole('The provider answers 500', 'server-error'),
      whole('The provider answers 429', 'rate-limited'),
      whole('The provider answers 529', 'overloaded'),
      whole('The provider refuses the seller’s key (401)', 'unauthorized'),
      whole('The seller’s account at the provider is empty (402)', 'payment-required'),
      whole('The seller’s account has no credit (400), another seller answers', 'no-credit', 'well'),
      streamed('The seller’s account has no credit (an error in a 200)', 'no-credit-in-200'),
      whole('The provider refuses the seller’s key (400, an array)', 'wrong-key-in-array'),
      whole('The quota of the seller’s account is used up (429)', 'quota-used-up'),
      {
        end: 'The request is above a limit of the seller’s account (429), another seller answers',
        acts: ['small-limit', 'well'],
        body: { messages: [{ role: 'user', content: 'word '.repeat(400) }] },
      },
      whole(
        'The provider accepts tools with reasoning on responses only (400), another seller answers',
        'tools-elsewhere',
        'well',
      ),
      whole('The provider accepts tools with reasoning on responses only (400)', 'tools-elsewhere'),
      whole('The provider does not know the model (404)', 'not-found'),
      whole('The provider answers 400 about the request', 'bad-request'),
      whole('Two providers answer the same 400 about the request', 'bad-request', 'bad-request'),
      whole(
        'Two providers refuse the request with different texts, a third answers',
        'bad-request',
        'unknown-member',
        'well',
      ),
      whole('The third provider repeats the 400 of the first', 'bad-request', 'unknown-member', 'bad-request'),
      whole('Two providers answer the same 400, and the third gets no request', 'bad-request', 'bad-request', 'well'),
      whole('The provider says that the context is too long', 'context-overflow'),
      whole('An error inside a 200', 'error-in-200'),
      streamed('An error inside a stream of 200', 'error-in-200'),
      whole('A web page with 200', 'html-in-200'),
      whole('A body that is cut', 'malformed-sse'),
      streamed('Unreadable events before content', 'malformed-sse'),
      whole('A redirect', 'redirect'),
      whole('A compressed bomb', 'gzip-bomb'),
      whole('A connection that breaks in a whole answer', 'cut-mid-stream'),
      streamed('A connection that breaks before content', 'cut-before-content'),
      { ...streamed('No head within the limit', 'hang'), isHasty: true },
      { ...whole('No whole answer within the limit', 'hang'), isHasty: true },
    ],
  },
  {
    title: 'Streams that break after content',
    rows: [
      streamed('The connection breaks', 'cut-mid-stream'),
      streamed('The connection breaks although another seller waits', 'cut-mid-stream', 'well'),
      { ...streamed('Silence past the limit', 'silence'), isHasty: true },
      { ...streamed('The whole call takes too long', 'drip'), isHasty: true },
    ],
  },
  {
    title: 'Buyers who leave',
    rows: [
      {
        end: 'Before the provider answers, streamed',
        acts: ['slow-first-token'],
        isStreamed: true,
        leaves: 'before the provider answers',
      },
      { end: 'Before the provider answers, whole', acts: ['slow-first-token'], leaves: 'before the provider answers' },
      {
        end: 'Before the provider answers, which takes too long',
        acts: ['slow-first-token'],
        leaves: 'before the provider answers',
        isHasty: true,
      },
      {
        end: 'After the first token, and the provider ends soon',
        acts: ['drip'],
        isStreamed: true,
        leaves: 'after the first token',
        ...few,
      },
      {
        end: 'After the first token, and the provider continues for too long',
        acts: ['drip'],
        isStreamed: true,
        leaves: 'after the first token',
        isHasty: true,
      },
      {
        end: 'After the first token, while too many other abandoned streams are read',
        acts: ['drip'],
        isStreamed: true,
        leaves: 'after the first token',
        isHasty: true,
        callsBefore: 3,
      },
    ],
  },
  {
    title: 'Prices under conditions',
    rows: [
      {
        end: 'A prompt that is long only with its cached tokens',
        acts: ['usage-of-cache'],
        overrides: LONG,
        body: { max_tokens: 20, messages: [{ role: 'user', content: [DOCUMENT] }] },
      },
      { end: 'A prompt below the threshold', acts: ['well'], overrides: LONG },
      { end: 'The priority tier, requested and served', acts: ['tier-priority'], ...PRIORITY },
      { end: 'The priority tier, requested, and the standard tier served', acts: ['tier-standard'], ...PRIORITY },
      { end: 'The priority tier, requested, and no tier reported', acts: ['well'], ...PRIORITY },
      { end: 'The priority tier, served without a request', acts: ['tier-priority'], ...PRIORITY, body: {} },
      {
        end: 'The priority tier, requested, and no seller allows it',
        acts: ['tier-priority'],
        ...PRIORITY,
        passes: [],
      },
      {
        ...streamed('The price doubles during the stream', 'drip'),
        ...few,
        meanwhile: 'the price doubles',
      },
      { ...streamed('A peak begins during the stream', 'drip'), ...few, meanwhile: 'a peak begins' },
      {
        // The override holds on every day but the one that the provider's clock shows.
        end: 'A call whose price depends on a time that its provider’s clock does not show',
        acts: ['other-clock'],
        overrides: [{ except_dates: ['2001-09-09'], prompt: '0.000002', completion: '0.00002' }],
      },
      { end: 'A tier without a price', acts: ['well'], ...PRIORITY, body: { service_tier: 'flex' } },
    ],
  },
  {
    title: 'Missing or wrong usage',
    rows: [
      whole('No usage, whole', 'usage-missing'),
      streamed('No usage, streamed', 'usage-missing'),
      whole('A usage of zero for a real answer', 'usage-zero'),
      whole('More input than the model reads', 'usage-above-window'),
      whole('Negative, huge and textual figures', 'usage-absurd'),
      { end: 'The third impossible usage of one seller', acts: ['usage-absurd'], callsBefore: 2 },
      streamed('Usage in every chunk, rising and falling', 'usage-every-chunk'),
    ],
  },
  {
    title: 'Embeddings, speech and transcripts',
    rows: [
      on('embeddings', 'Vectors', 'well'),
      on('embeddings', 'Vectors without usage', 'usage-missing'),
      on('embeddings', 'Vectors with a reported usage of zero', 'usage-zero'),
      on('embeddings', 'Fewer vectors than inputs, and the next seller has all of them', 'empty', 'well'),
      on('speech', 'Speech', 'well'),
      { ...on('speech', 'Speech billed by tokens', 'well'), facts: BY_TOKENS },
      on('speech', 'Speech whose first seller fails before any sound', 'server-error', 'well'),
      on('speech', 'Speech that breaks off', 'cut-mid-stream'),
      on('speech', 'Speech without a sound', 'empty'),
      { ...on('speech', 'Speech whose buyer disconnects in the middle', 'drip'), leaves: 'after the first token' },
      on('transcriptions', 'A transcript', 'well'),
      { ...on('transcriptions', 'A streamed transcript', 'well'), isStreamed: true },
      {
        ...on('transcriptions', 'A transcript of two seconds, with a minimum bill of ten', 'well'),
        facts: TEN_SECONDS,
      },
      { ...on('transcriptions', 'A transcript of more time than its audio has', 'well'), audioSeconds: 1.5 },
      on('transcriptions', 'A transcript without its duration', 'usage-missing'),
      on('transcriptions', 'A transcript with an impossible duration', 'usage-absurd'),
      {
        ...on('transcriptions', 'A transcript billed by tokens', 'well'),
        facts: HEARD_BY_TOKENS,
        family: 'transcribe',
      },
      {
        ...on('transcriptions', 'A streamed transcript billed by tokens', 'well'),
        isStreamed: true,
        facts: HEARD_BY_TOKENS,
        family: 'transcribe',
      },
      {
        ...on('transcriptions', 'A transcript billed by tokens, without usage', 'usage-missing'),
        facts: HEARD_BY_TOKENS,
        family: 'transcribe',
      },
      on('transcriptions', 'A transcript of silence', 'empty'),
      { ...on('transcriptions', 'A streamed transcript that breaks off', 'cut-mid-stream'), isStreamed: true },
    ],
  },
  {
    title: 'Pictures',
    rows: [
      on('pictures', 'A picture', 'well'),
      on('pictures', 'A picture without usage', 'usage-missing'),
      { ...on('pictures', 'A picture of a size without a price', 'well'), facts: BY_SIZE },
      on('pictures', 'A picture with impossible usage', 'usage-absurd'),
      on('pictures', 'An answer without a picture, and the next seller has one', 'empty', 'well'),
      on('pictures', 'The provider refuses the prompt', 'bad-request'),
      { ...on('pictures', 'A picture after partial pictures', 'well'), isStreamed: true },
      { ...on('pictures', 'A streamed picture without usage', 'usage-missing'), isStreamed: true },
      { ...on('pictures', 'A streamed picture whose first seller fails', 'server-error', 'well'), isStreamed: true },
      {
        ...on('pictures', 'A streamed picture that breaks off after a partial one', 'cut-mid-stream'),
        isStreamed: true,
      },
      {
        ...on('pictures', 'A streamed picture whose buyer disconnects, and that never arrives', 'silence'),
        isStreamed: true,
        leaves: 'after the first token',
        isHasty: true,
      },
    ],
  },
  {
    title: 'Long jobs',
    rows: [
      { end: 'The job succeeds', acts: ['well'], job: { model: 'job', buyer: 'asks' } },
      {
        end: 'The job reports more usage than its quote',
        acts: ['well'],
        job: { model: 'job-overcharging', buyer: 'asks' },
      },
      { end: 'The job reports no usage', acts: ['well'], job: { model: 'job-unmetered', buyer: 'asks' } },
      { end: 'The job fails', acts: ['well'], job: { model: 'job-failing', buyer: 'asks' } },
      { end: 'The buyer cancels the job', acts: ['well'], job: { model: 'job-endless', buyer: 'cancels' } },
      {
        end: 'The balance does not cover the quote',
        acts: ['well'],
        buyer: 'poor',
        job: { model: 'job', buyer: 'asks' },
      },
    ],
  },
]
