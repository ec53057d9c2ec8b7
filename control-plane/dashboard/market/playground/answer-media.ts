import { at } from '#control-plane/dashboard/data/answer-of.ts'
import { apiUrlHere } from '#control-plane/dashboard/data/api-url.ts'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import type { PayingCall } from '#control-plane/dashboard/data/paid-call.ts'
import type { Answering } from './answer-chat.ts'
import type { ApiCall } from './call-of.ts'
import type { Media } from './reply.ts'
import { bodyFacts, headFacts } from './reply.ts'

/** Pauses between two polls of a job: at first, and at most. */
const FIRST_LOOK_MS = 1_500
const LONGEST_LOOK_MS = 10_000
/** Most polls of one job by the page: more than a job of an hour needs. After that, the jobs screen shows the job. */
const MAX_LOOKS = 500
const SOON_MS = 10_000
/** The beginning of a picture in base64, by its type. */
const PICTURES = [
  ['iVBOR', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
  ['R0lGOD', 'image/gif'],
] as const

/** Makes the pictures of a call. Throws what the call throws. */
export async function answerPicture({ path, body }: ApiCall, { paid, signal, onKnown }: Answering): Promise<void> {
  const answer = await paid(path, { body, signal })
  onKnown(headFacts(answer.headers))
  const read: unknown = await answer.json()
  const data = at(read, 'data')
  const media = Array.isArray(data) ? data.flatMap(pictureOf) : []
  onKnown({ ...bodyFacts(read), media, text: media.length === 0 ? 'The answer has no picture.' : '' })
}

function pictureOf(item: unknown, place: number): Media[] {
  const [bytes, url] = [at(item, 'b64_json'), at(item, 'url')]
  if (typeof bytes === 'string') {
    const type = PICTURES.find(([head]) => bytes.startsWith(head))?.[1]
    const name = `picture-${place + 1}.${type?.slice('image/'.length) ?? 'bin'}`
    return type === undefined ? [] : [{ kind: 'picture', url: `data:${type};base64,${bytes}`, name }]
  }
  return typeof url === 'string' ? fileOf(url, 'picture', `picture-${place + 1}`) : []
}

/** Speaks a text. Throws what the call throws. */
export async function answerSpeech({ path, body }: ApiCall, { paid, signal, onKnown }: Answering): Promise<void> {
  const answer = await paid(path, { body, signal })
  onKnown(headFacts(answer.headers))
  const sound = await answer.blob()
  onKnown({ media: [{ kind: 'sound', url: URL.createObjectURL(sound), name: 'speech.mp3' }] })
}

/** Begins a job and follows it to its end. A stop leaves it running. Throws what the calls throw. */
export async function answerJob({ path, body }: ApiCall, { paid, signal, onKnown }: Answering): Promise<void> {
  const answer = await paid(path, { body, signal })
  onKnown({ ...headFacts(answer.headers), state: 'answering', progress: 'Queued' })
  const id = at(await answer.json(), 'id')
  if (typeof id !== 'string') throw new MarketError('internal_error', 'The answer of the market names no job.')
  const job = await jobAtEnd(`${path}/${id}`, { paid, signal, onKnown })
  const media = filesIn(job, id)
  const error = at(job, 'error', 'message')
  onKnown({ ...bodyFacts(job), media, progress: undefined })
  const status = at(job, 'status')
  if (status === 'succeeded') return
  const words =
    typeof error === 'string' ? error : status === 'cancelled' ? 'The job was cancelled.' : 'The job failed.'
  throw new MarketError('upstream_error', words)
}

async function jobAtEnd(path: string, { paid, signal, onKnown }: Answering): Promise<unknown> {
  const began = performance.now()
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    const passedMs = performance.now() - began
    await pause(passedMs < SOON_MS ? FIRST_LOOK_MS : Math.min(LONGEST_LOOK_MS, passedMs / 8), signal)
    const job = await readJob(paid, path, signal)
    const status = at(job, 'status')
    if (status !== 'queued' && status !== 'running') return job
    onKnown({ progress: status === 'queued' ? 'Queued' : 'Running' })
  }
  throw new MarketError('service_unavailable', 'The job still runs. Find it on the jobs screen.')
}

async function readJob(paid: PayingCall, path: string, signal: AbortSignal): Promise<unknown> {
  return (await paid(path, { method: 'GET', signal })).json()
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}

/** The files of a job that has ended, in the shapes of both paths of films. */
export function filesIn(job: unknown, id: string): readonly Media[] {
  const files = at(job, 'artifacts')
  if (!Array.isArray(files)) return []
  return files.flatMap((file: unknown, place) => {
    const [url, type] = [at(file, 'url'), at(file, 'content_type')]
    if (typeof url !== 'string') return []
    const kind = typeof type === 'string' && type.startsWith('audio/') ? 'sound' : 'film'
    const index = at(file, 'index')
    const path = `/v1/media/artifacts/${id}/${typeof index === 'number' ? index : place}`
    return fileOf(url, kind, `${id}-${place + 1}`).map((media) => ({ ...media, path }))
  })
}

/**
 * A file at an address. The page shows those of our own address: its policy lets nothing else in, so a file that lies
 * at its provider is a link. A provider may send any text as an address, and only http and https become one.
 */
function fileOf(url: string, kind: Media['kind'], name: string): Media[] {
  if (!/^https?:\/\//.test(url)) return []
  const href = apiUrlHere(url)
  return [{ kind: new URL(href).origin === location.origin ? kind : 'file', url: href, name }]
}
