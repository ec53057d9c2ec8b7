import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { createJobFiles } from '#data-plane/pipeline/jobs/keep-job-files.ts'
import { openArtifactFolder } from '#data-plane/store/artifact-folder.ts'
import type { ArtifactLimits } from '#data-plane/store/artifact-store.ts'
import { createArtifacts } from '#data-plane/store/artifacts.ts'
import type { StoredJob } from '#data-plane/store/jobs.ts'
import { createFileFetcher } from '#data-plane/upstream/fetch-file.ts'
import { createKeyPatterns } from '#data-plane/upstream/key-pattern.ts'
import type { Time } from '#shared/clock.ts'
import { HOUR } from '#shared/clock.ts'
import type { RequestId } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { Secret } from '#shared/secret.ts'

const log = createLogger('data-plane', 'silent')
export const SELLER_KEY = 'sk-canary-of-a-seller-0123456789'
export const FILE_LIMITS: ArtifactLimits = {
  fileBytes: 2_000_000,
  ownerBytes: 3_000_000,
  totalBytes: 9_000_000,
  keepMs: 24 * HOUR,
}

type Parts = {
  readonly dir: string
  readonly clock: Time
  /** Host and port of the provider. */
  readonly host: string
  /** The hosts of files in the provider's record. */
  readonly fileHosts?: readonly string[]
  find?(rid: RequestId): Promise<StoredJob | undefined>
}

/** The files of jobs in a data plane, with a folder for their copies. */
export function openJobFiles({ dir, clock, host, fileHosts = [], find = async () => undefined }: Parts) {
  const policy = { allowsLoopback: true }
  const store = openArtifactFolder({ dir, node: 'a', limits: FILE_LIMITS, clock, log })
  const artifacts = createArtifacts({
    store,
    secret: new Secret('of links'),
    apiBaseUrl: 'https://api.example',
    linkMs: HOUR,
    clock,
  })
  const openCredential = () => new Secret(SELLER_KEY)
  const files = createJobFiles({
    artifacts,
    jobs: { find },
    policy,
    clock,
    log,
    limits: FILE_LIMITS,
    fetcher: createFileFetcher({ policy, openCredential, patterns: createKeyPatterns(), clock }),
    upstream: { holdsKey: (_to, text) => text.includes(SELLER_KEY) },
    market: () => ({ hosts: new Set([host]), findProvider: () => ({ id: 'sample', fileHosts }) as never }),
  })
  return { files, artifacts }
}

/** A host of files, and the requests that it received. */
export async function startFileHost(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const asked: { readonly url: string; readonly authorization: string | undefined }[] = []
  const server = createServer((request, response) => {
    asked.push({ url: request.url ?? '', authorization: request.headers.authorization })
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const host = `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { host, asked, close }
}
