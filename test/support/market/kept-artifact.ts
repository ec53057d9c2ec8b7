import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { z } from 'zod'
import { openArtifactFolder } from '#data-plane/store/artifact-folder.ts'
import type { NewArtifact } from '#data-plane/store/artifact-store.ts'
import type { ArtifactLink } from '#data-plane/store/artifacts.ts'
import { createArtifacts } from '#data-plane/store/artifacts.ts'
import { HOUR, systemClock } from '#shared/clock.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { RequestId } from '#shared/ids.ts'
import { parseAnswerId } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { Secret } from '#shared/secret.ts'
import type { Network } from './network.ts'

const BYTES = 300_000_000
const Secrets = z.object({ KEY_PEPPER: z.string() })
const Job = z.object({ account: z.string() })

type Place = {
  readonly journal: string
  readonly job: string
  readonly index: number
  /** Milliseconds for which the link opens the file. */
  readonly linkMs?: number
}

/**
 * Stores a file of a job, as another data plane on this machine would, and links to it. The job's buyer owns the file.
 */
export async function keepArtifact(
  network: Network,
  { job, ...place }: Place,
  artifact: Omit<NewArtifact, 'owner'>,
): Promise<ArtifactLink> {
  const rid = parseAnswerId(job)
  if (rid === undefined) throw new RangeError(`${job} is not a job`)
  const redis = new Redis(network.sandbox.redis_url)
  const { account: owner } = Job.parse(JSON.parse((await redis.hget(moneyKeys.job(rid), 'job')) ?? 'null'))
  redis.disconnect()
  return keepFile(network, { ...place, rid }, { ...artifact, owner })
}

/** Stores a file of any request, as another data plane on this machine would, and links to it. */
export async function keepFile(
  { home, sandbox }: Network,
  { journal, rid, index, linkMs = HOUR }: Omit<Place, 'job'> & { readonly rid: RequestId },
  artifact: NewArtifact,
): Promise<ArtifactLink> {
  const { KEY_PEPPER: pepper } = Secrets.parse(JSON.parse(readFileSync(join(home, 'secrets.json'), 'utf8')))
  const store = openArtifactFolder({
    dir: join(home, `${journal}-artifacts`),
    node: 'beside',
    clock: systemClock,
    limits: { fileBytes: BYTES, ownerBytes: BYTES, totalBytes: BYTES, keepMs: HOUR },
    log: createLogger('data-plane', 'silent'),
  })
  const secret = new Secret(pepper).derive('links to media files')
  const artifacts = createArtifacts({
    store,
    secret,
    apiBaseUrl: sandbox.api_base_url,
    linkMs,
    clock: systemClock,
  })
  const link = await artifacts.keep({ rid, index }, artifact)
  await artifacts.close()
  return link
}
