import type { AnswerFile } from '#data-plane/call.ts'
import { SECOND } from '#shared/clock.ts'
import type { CallPlane } from './call-plane.ts'
import type { AdmittedCall } from './stages.ts'

/**
 * Milliseconds for storing the files of one answer. After that the answer goes out with the files that are not stored
 * yet.
 */
const KEEP_MS = 10 * SECOND

/**
 * Stores the files of an answer and replaces them with links. A file that cannot be stored stays in the answer, and the
 * decoder names the deviation. Never rejects.
 */
export async function keepFiles(
  { artifacts, clock, log }: Pick<CallPlane, 'artifacts' | 'clock' | 'log'>,
  { hold }: AdmittedCall,
  files: readonly AnswerFile[],
): Promise<void> {
  const { rid } = hold
  // The media route compares this owner with the requesting payer.
  const owner = hold.account ?? hold.wallet ?? ''
  const wait: { isOver: boolean } = { isOver: false }
  const keepAll = async () => {
    for (const { index, contentType, pieces, link } of files) {
      const file = { owner, contentType, pieces: until(wait, pieces), isOfAnswer: true }
      const { url } = await artifacts.keep({ rid, index }, file)
      if (wait.isOver) return
      link(url)
    }
  }
  await new Promise<void>((resolve) => {
    const endWait = clock.after(KEEP_MS, () => {
      wait.isOver = true
      log.warn({ rid }, 'the files of an answer could not be kept in time')
      resolve()
    })
    keepAll()
      .catch((error: unknown) => log.warn({ rid, err: error }, 'a file of an answer could not be kept'))
      .finally(() => {
        endWait()
        resolve()
      })
  })
}

/** Passes pieces on until the wait is over. Then the stored part is removed. */
function* until(wait: { readonly isOver: boolean }, pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  for (const piece of pieces) {
    if (wait.isOver) throw new Error('the answer no longer waits for the file')
    yield piece
  }
}
