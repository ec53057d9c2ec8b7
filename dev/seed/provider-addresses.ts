import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Address } from '#dev/services/ports.ts'

const KeptSchema = z.record(z.string(), z.object({ host: z.string(), port: z.number().int() }))

/** The stored addresses of the providers, by id. */
export function readProviderAddresses(file: string): ReadonlyMap<string, Address> {
  return new Map(Object.entries(KeptSchema.parse(JSON.parse(readFileSync(file, 'utf8')))))
}

/** The file in a home with these addresses. */
export const PROVIDERS_FILE = 'providers.json'
