import { createHash } from 'node:crypto'
import type { RawRequest } from '#data-plane/call.ts'

/** Digests of requests in progress. Each rail of a path asks for the digest of its call. */
const digests = new WeakMap<RawRequest, string>()

/**
 * SHA-256 in hex of a request: its method, its path with floor, its query, its named target, and its body. Of a
 * streamed body only the length is known at that time.
 */
export function requestDigest(raw: RawRequest): string {
  const knownDigest = digests.get(raw)
  if (knownDigest !== undefined) return knownDigest
  const digest = digestOf(raw)
  digests.set(raw, digest)
  return digest
}

function digestOf(raw: RawRequest): string {
  const { method, path, query, pathFloorPercent, body, stream, headers } = raw
  const length = stream === undefined ? '' : (headers['content-length'] ?? '')
  const target = headers['x-target-url'] ?? ''
  return createHash('sha256')
    .update(`${method} ${pathFloorPercent ?? ''} ${path} ${length}\n${query}\n${target}\n`)
    .update(body)
    .digest('hex')
}
