import type { RawRequest } from '#data-plane/call.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { AppError } from '#shared/errors.ts'
import { seedResources } from '#test/support/facts/seed-resources.ts'
import { buildRaw } from './build-market.ts'

/** Requests to the seeded records, in the form that the wire of forwarded calls reads. */

export const RECORDS = seedResources()
export const H = '/resources/provider-h'
export const P1 = '/resources/provider-p1'
export const P2 = '/resources/provider-p2/chat/completions'
export const RPC = '/x402/api/crypto-rpc/rpc/base-mainnet'
export const RUN = 'https://sandbox-a.example'
export const QUEUE = 'https://sandbox-b.example'

export type Given = Partial<Pick<RawRequest, 'method' | 'query'>> & {
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

export function rawOf(path: string, { headers = {}, body, ...given }: Given = {}): RawRequest {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  return { ...buildRaw(text, headers), path, ...given }
}

export const read = (wire: AnyWire, path: string, given?: Given) => wire.read(rawOf(path, given), RECORDS)

export function codeOf(wire: AnyWire, path: string, given?: Given): string {
  try {
    read(wire, path, given)
    return 'read'
  } catch (error) {
    return error instanceof AppError ? error.code : String(error)
  }
}

export const IMAGE = { model: 'canvas-1', prompt: 'a boat', n: 2 }
export const target = (url: string) => ({ headers: { 'x-target-url': url } })
