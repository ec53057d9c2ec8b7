import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { Secret } from '#shared/secret.ts'
import type {
  ArtifactFacts,
  ArtifactFigures,
  ArtifactId,
  ArtifactStore,
  NewArtifact,
  OpenArtifact,
} from './artifact-store.ts'

/** Most downloads that one process serves at once. */
const MAX_DOWNLOADS = 128
const RETRY_SECONDS = 1

/** A link that opens a file without a key, until an instant in Unix milliseconds. */
export type ArtifactLink = { readonly url: string; readonly expiresAt: number }

/** Media files of answers: their storage, and links to them. */
export type Artifacts = {
  /**
   * Stores a file and links to it. Throws as {@link ArtifactStore.put} does; the caller then sends the file in the
   * answer.
   */
  keep(id: ArtifactId, artifact: NewArtifact): Promise<ArtifactLink>
  store(id: ArtifactId, artifact: NewArtifact): Promise<ArtifactFacts>
  /** Links to a file that expires at this instant, in Unix milliseconds. The file may not be here yet. */
  link(id: ArtifactId, until: number): ArtifactLink
  open(id: ArtifactId): Promise<OpenArtifact | undefined>
  /** Removes a file. A missing file is no error. */
  remove(id: ArtifactId): Promise<void>
  /** True when the two members of a link were signed by the market and its time is not over. */
  isSigned(id: ArtifactId, expires: string, signature: string): boolean
  /** Counts a download; the returned function ends it. Throws `overloaded`. */
  admitDownload(): () => void
  figures(): ArtifactFigures & { readonly downloads: number; readonly open: number }
  close(): Promise<void>
}

type Parts = {
  readonly store: ArtifactStore
  /** Signs links and nothing else. */
  readonly secret: Secret
  readonly apiBaseUrl: string
  /** Milliseconds for which a link opens its file. */
  readonly linkMs: number
  readonly clock: Clock
}

export function createArtifacts({ store, secret, apiBaseUrl, linkMs, clock }: Parts): Artifacts {
  const count = { downloads: 0, open: 0 }
  const sign = ({ rid, index }: ArtifactId, expires: string) =>
    createHmac('sha256', secret.reveal()).update(`${rid}\n${index}\n${expires}`).digest()
  const link = (id: ArtifactId, until: number): ArtifactLink => {
    const seconds = Math.floor(Math.min(clock.now() + linkMs, until) / SECOND)
    const signature = sign(id, String(seconds)).toString('base64url')
    const path = `/v1/media/artifacts/job_${id.rid}/${id.index}`
    return { url: `${apiBaseUrl}${path}?expires=${seconds}&signature=${signature}`, expiresAt: seconds * SECOND }
  }
  return {
    async keep(id, artifact) {
      const { expiresAt } = await store.put(id, artifact)
      return link(id, expiresAt)
    },
    store: store.put,
    link,
    open: store.open,
    remove: store.remove,
    isSigned(id, expires, signature) {
      if (!/^[1-9]\d{0,11}$/.test(expires) || !/^[\w-]{43}$/.test(signature)) return false
      // The text is compared, because two texts may decode to the same bytes.
      const expectedToken = Buffer.from(sign(id, expires).toString('base64url'))
      const isOurs = timingSafeEqual(Buffer.from(signature), expectedToken)
      return isOurs && Number(expires) * SECOND > clock.now()
    },
    admitDownload() {
      if (count.open >= MAX_DOWNLOADS) {
        throw new AppError('overloaded', {
          detail: { limit_source: 'downloads', limit_scope: 'platform', resets_at: null },
          retryAfterSeconds: RETRY_SECONDS,
        })
      }
      count.open++
      count.downloads++
      let isDue = true
      return () => {
        if (isDue) count.open--
        isDue = false
      }
    },
    figures: () => ({ ...store.figures(), ...count }),
    close: store.close,
  }
}
