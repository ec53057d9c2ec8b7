/**
 * Copies a film of a host into a folder, again and again, like the data plane copies files of jobs. Run it as a process
 * with `--url --dir --copies`. It prints the memory that each copy added and its seconds.
 */
import { parseArgs } from 'node:util'
import { openArtifactFolder } from '#data-plane/store/artifact-folder.ts'
import { createFileFetcher, FILE_TIMES } from '#data-plane/upstream/fetch-file.ts'
import { createKeyPatterns } from '#data-plane/upstream/key-pattern.ts'
import { HOUR, systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { Secret } from '#shared/secret.ts'
import { FILM_BYTES } from './film.ts'
import { memoryOf, resetPeak } from './memory.ts'

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    dir: { type: 'string', default: '' },
    copies: { type: 'string', default: '3' },
  },
})
const clock = systemClock
const bytes = 2 * FILM_BYTES
const limits = { fileBytes: bytes, ownerBytes: bytes, totalBytes: bytes, keepMs: HOUR }
const store = openArtifactFolder({ dir: values.dir, node: 'bench', limits, clock, log: createLogger('bench', 'error') })
const policy = { allowsLoopback: true }
const openCredential = () => new Secret('')
const fetcher = createFileFetcher({ policy, openCredential, patterns: createKeyPatterns(), clock })
const ids = createIds(clock)
const copied: { readonly addedBytes: number; readonly seconds: number }[] = []
for (let each = 0; each < Number(values.copies); each++) {
  const id = { rid: ids.requestId(), index: 0 }
  const before = memoryOf(process.pid).resident
  resetPeak(process.pid)
  const from = performance.now()
  const place = { url: values.url, hosts: new Set([new URL(values.url).host]) }
  const { contentType, pieces } = await fetcher.fetch(place, { ...FILE_TIMES, maxBytes: bytes })
  await store.put(id, { owner: 'acc_bench', contentType, pieces })
  copied.push({ addedBytes: memoryOf(process.pid).peak - before, seconds: (performance.now() - from) / 1_000 })
  await store.remove(id)
}
process.stdout.write(`${JSON.stringify(copied)}\n`)
await fetcher.close()
await store.close()
