import { z } from 'zod'

/** A proxied provider: how it is addressed, what of it is reachable, and how its calls are priced. */
export const ResourceSchema = z.object({
  id: z.enum(['provider-h', 'provider-p1', 'provider-p2']),
  displayName: z.string(),
  /** `header`: the target rides in x-target-url; `path`: it follows the resource in the path. */
  style: z.enum(['header', 'path']),
  /** Hosts a call may go to; for the header style its run and queue hosts. */
  hosts: z.array(z.string()).min(1),
  unit: z.string(),
  /** How the credential is sent. */
  credential: z.object({ header: z.string(), prefix: z.string() }),
  /** Reachable calls with their prices; a path not listed is refused. */
  routes: z.array(
    z.object({
      method: z.enum(['GET', 'POST', 'PUT']),
      /** A regular expression over the provider's path. */
      path: z.string(),
      isFenced: z.boolean(),
      mustQueue: z.boolean(),
      unitPicoUsd: z.string().nullable(),
      quoteBy: z.enum(['call', 'images', 'pixels', 'milliseconds', 'tokens', 'nothing']),
    }),
  ),
  traits: z.array(z.object({ name: z.string(), provenance: z.enum(['declared', 'probed']) })),
})
export type Resource = z.infer<typeof ResourceSchema>
