import type { ServerResponse } from 'node:http'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { createShares } from '#shared/shares.ts'

/** The largest number of open streams of one process, of one credential, and of one address without a credential. */
export const STREAM_LIMITS = { perProcess: 5_000, perCaller: 50, perAddress: 200 } as const
const HEARTBEAT_MS = 15 * SECOND
/** A reader that receives nothing is dropped after this time. All credentials are checked again at this interval. */
const STUCK_MS = MINUTE
const RECHECK_MS = 30 * SECOND
/** The least pause between checks of changed keys, however many change. */
const RECHECK_AFTER_CHANGE_MS = SECOND / 4

const BEAT = ':\n\n'
const COMPLETE = 'event: complete\ndata:\n\n'

/** The caller that has a stream open. */
export type Caller = {
  /** The credential, or the address of a caller without one. */
  readonly name: string
  readonly most: number
  /** Resolves to false once the credential is no longer valid. Undefined without a credential. */
  readonly isStillGood: (() => Promise<boolean>) | undefined
}

/** Results in order. `return` ends them. */
export type Results = AsyncIterator<unknown>

/** The open streams of server-sent events of one process. */
export type Streams = {
  /**
   * Takes a place for a stream before it opens. Throws `too_many_in_flight` or `overloaded` when there is none. The
   * caller passes the place to `serve`, or gives it back.
   */
  admit(caller: Caller): StreamPlace
  /**
   * Sends results to a response until either ends. All streams of one `key` share the source that the first one opened.
   */
  serve(
    response: ServerResponse,
    source: { readonly place: StreamPlace; readonly key: string; open(): Promise<Results> },
  ): void
  /** Soon checks every credential again. */
  recheck(): void
  count(): number
  close(): void
}

/** The place of one stream in the limits, from before its source opens. */
export type StreamPlace = {
  readonly caller: Caller
  /** Gives the place back, once. */
  leave(): void
}

type Reader = {
  readonly response: ServerResponse
  readonly caller: Caller
  readonly place: StreamPlace
  readonly group: Group
  /** The newest result that a slow reader has not received. */
  waiting: string | undefined
  stuckSince: number | undefined
}
type Group = {
  readonly key: string
  readonly readers: Set<Reader>
  last: string | undefined
  results: Results | undefined
}

/** Makes streams over node's responses. `now` gives milliseconds of any clock. */
export function createStreams(now: () => number): Streams {
  const groups = new Map<string, Group>()
  const readers = new Set<Reader>()
  const places = createShares(STREAM_LIMITS.perProcess)
  let soon: NodeJS.Timeout | undefined
  const beat = setInterval(() => keepAlive(readers, now()), HEARTBEAT_MS)
  const check = setInterval(recheck, RECHECK_MS)
  beat.unref()
  check.unref()

  function leave(reader: Reader): void {
    if (!readers.delete(reader)) return
    reader.place.leave()
    const { group } = reader
    group.readers.delete(reader)
    if (group.readers.size > 0) return
    groups.delete(group.key)
    void group.results?.return?.()
  }

  function recheck(): void {
    soon ??= setTimeout(() => {
      soon = undefined
      void dropRevoked(readers)
    }, RECHECK_AFTER_CHANGE_MS)
  }

  return {
    recheck,
    count: () => readers.size,
    admit(caller) {
      const { name, most } = caller
      const leave = places.take(name, most)
      if (leave === 'all') throw new AppError('overloaded', { retryAfterSeconds: 5 })
      if (leave !== 'name') return { caller, leave }
      throw new AppError('too_many_in_flight', {
        message: `At most ${most} streams may be open.`,
        detail: { limit: most },
      })
    },
    serve(response, { place, key, open }) {
      const knownGroup = groups.get(key)
      const group: Group = knownGroup ?? { key, readers: new Set(), last: undefined, results: undefined }
      const { caller } = place
      const reader: Reader = { response, caller, place, group, waiting: undefined, stuckSince: undefined }
      groups.set(key, group)
      group.readers.add(reader)
      readers.add(reader)
      response.on('close', () => leave(reader))
      response.on('drain', () => flush(reader))
      response.write(BEAT)
      if (group.last !== undefined) send(reader, group.last, now())
      if (knownGroup === undefined) void pump(group, open, now)
    },
    close() {
      clearInterval(beat)
      clearInterval(check)
      clearTimeout(soon)
      for (const { response } of [...readers]) response.end(COMPLETE)
    },
  }
}

/** Hands every result of a group to all of its readers, as one text. */
async function pump(group: Group, open: () => Promise<Results>, now: () => number): Promise<void> {
  try {
    const results = await open()
    group.results = results
    if (group.readers.size === 0) void results.return?.()
    for (let next = await results.next(); next.done !== true; next = await results.next()) {
      group.last = `event: next\ndata: ${JSON.stringify(next.value)}\n\n`
      for (const reader of group.readers) send(reader, group.last, now())
    }
  } finally {
    for (const { response } of [...group.readers]) response.end(COMPLETE)
  }
}

/** A reader with a full buffer gets the newest result once the buffer is empty, and none of those in between. */
function send(reader: Reader, text: string, at: number): void {
  if (reader.stuckSince !== undefined) {
    reader.waiting = text
    return
  }
  if (!reader.response.write(text)) reader.stuckSince = at
}

function flush(reader: Reader): void {
  reader.stuckSince = undefined
  const { waiting } = reader
  reader.waiting = undefined
  if (waiting !== undefined) reader.response.write(waiting)
}

function keepAlive(readers: ReadonlySet<Reader>, at: number): void {
  for (const { response, stuckSince } of readers) {
    if (stuckSince === undefined) response.write(BEAT)
    else if (at - stuckSince > STUCK_MS) response.destroy()
  }
}

/**
 * Ends the streams of credentials that are no longer valid. Each credential is checked once, however many streams it
 * has.
 */
async function dropRevoked(readers: ReadonlySet<Reader>): Promise<void> {
  const answers = new Map<string, Promise<boolean>>()
  for (const { caller, response } of [...readers]) {
    if (caller.isStillGood === undefined) continue
    const answer = answers.get(caller.name) ?? caller.isStillGood()
    answers.set(caller.name, answer)
    if (!(await answer)) response.end(COMPLETE)
  }
}
